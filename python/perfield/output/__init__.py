# SPDX-License-Identifier: BSD-3-Clause
"""What leaves perfield: series of pictures for ParaView (.pvd) and images."""
