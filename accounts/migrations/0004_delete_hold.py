from django.db import migrations


class Migration(migrations.Migration):
    """Nothing ever reserved an amount, yet every charge looked for a reservation to delete."""

    dependencies = [("accounts", "0003_counted_attempt")]

    operations = [migrations.DeleteModel(name="Hold")]
