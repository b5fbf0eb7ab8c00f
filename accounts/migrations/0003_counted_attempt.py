from django.db import migrations


class Migration(migrations.Migration):
    """The table keeps its name: only the class is called differently, because turns have attempts too."""

    dependencies = [("accounts", "0002_spent_hours")]

    operations = [
        migrations.AlterModelTable(name="attempt", table="accounts_attempt"),
        migrations.RenameModel(old_name="Attempt", new_name="CountedAttempt"),
    ]
