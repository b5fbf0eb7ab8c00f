"""One machine of a deployment: starts its processes, dies whole when one of them dies, passes SIGTERM on.

`python host.py JSON`, a list of {"command": [...], "env": {...}}. They share its process group, so that a signal to the
group reaches all of them.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

DIE_WITH_PARENT = Path(__file__).resolve().parents[3] / "copilot_project" / "launcher" / "die_with_parent.py"


def main(text: str) -> int:
    running = [
        subprocess.Popen(
            [sys.executable, str(DIE_WITH_PARENT), str(os.getpid()), *process["command"]],
            env=os.environ | process["env"],
        )
        for process in json.loads(text)
    ]
    stopping = False

    def stop(*_: object) -> None:
        nonlocal stopping
        stopping = True
        for process in running:
            process.terminate()

    signal.signal(signal.SIGTERM, stop)
    for _ in running:
        os.wait()
        if not stopping:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            os.killpg(0, signal.SIGKILL)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
