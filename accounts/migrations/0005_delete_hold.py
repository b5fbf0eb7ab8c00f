from django.db import migrations


class Migration(migrations.Migration):
    """Nothing ever reserved an amount, yet every charge looked for a reservation to delete."""

    dependencies = [
        ("accounts", "0004_default_model"),
    ]

    operations = [migrations.DeleteModel(name="Hold")]
