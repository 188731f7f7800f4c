# SPDX-License-Identifier: BSD-3-Clause
"""What starts and drives others: warm Pythons, ParaView, browsers, servers, hosts, bounded children."""
