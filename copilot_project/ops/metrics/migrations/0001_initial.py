from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name='RunningTotal',
            fields=[
                ('source', models.CharField(max_length=64, primary_key=True, serialize=False)),
                ('until', models.DateTimeField(help_text='Rows before this moment are in.')),
                ('numbers', models.JSONField(default=dict)),
            ],
        ),
    ]
