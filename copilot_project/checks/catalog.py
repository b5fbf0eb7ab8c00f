"""The probes in the order `doctor` shows them, and those the health page asks."""

from copilot_project.checks.machine import disk, python, sandbox, ui_build
from copilot_project.checks.parts import broker, database, migrations, model, redis, workers

ALL = (python, database, migrations, redis, broker, workers, model, ui_build, sandbox, disk)
READY = (database, redis, workers)
