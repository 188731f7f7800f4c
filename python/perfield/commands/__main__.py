# SPDX-License-Identifier: BSD-3-Clause
"""Makes `python -m perfield.commands` the same as the command `perfield`."""

import sys

from perfield.commands import main

sys.exit(main())
