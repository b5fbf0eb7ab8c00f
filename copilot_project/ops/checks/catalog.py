"""The checks of `doctor`, in the order shown, and those of the readiness page."""

from copilot_project.ops.checks import deployment
from copilot_project.ops.checks.machine import disk, python, sandbox, ui_build
from copilot_project.ops.checks.parts import broker, database, migrations, model, redis, workers
from copilot_project.ops.checks.rabbitmq import rabbitmq, rabbitmq_limits

ALL = (python, database, migrations, redis, broker, workers, model, ui_build, sandbox, disk)
READY = (database, redis, workers)
DEPLOYMENT = (
    deployment.postgres,
    deployment.connections,
    deployment.pool,
    deployment.redis_version,
    deployment.redis_memory,
    deployment.redis_disk,
    rabbitmq,
    rabbitmq_limits,
    deployment.queues,
    deployment.beat,
    deployment.consumer,
    deployment.keys,
    deployment.hosts,
    deployment.trusted_proxies,
    deployment.public_site,
    deployment.public_sockets,
    deployment.storage,
    deployment.upload_scanner,
)
