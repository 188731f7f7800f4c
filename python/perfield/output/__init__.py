# SPDX-License-Identifier: BSD-3-Clause
"""Writes series of pictures for ParaView (.pvd) and images."""
