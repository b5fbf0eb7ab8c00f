from django.db import migrations


class Migration(migrations.Migration):
    """Forget the model only: processes of the previous version still delete from its table while they are replaced."""

    dependencies = [
        ("accounts", "0004_default_model"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(state_operations=[migrations.DeleteModel(name="Hold")]),
    ]
