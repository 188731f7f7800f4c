# SPDX-License-Identifier: BSD-3-Clause
"""Host lists stand for the hosts that Slurm means by them; others are refused in a sentence."""

from __future__ import annotations

import pytest

from perfield.topology import NetworkError, expand_hosts


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("taurusi[6001-6003,6020]", ["taurusi6001", "taurusi6002", "taurusi6003", "taurusi6020"]),
        ("n1,n2", ["n1", "n2"]),
        ("n[08-11]", ["n08", "n09", "n10", "n11"]),
        ("n[8-11]", ["n8", "n9", "n10", "n11"]),
        ("r[0-1]n[1-2]", ["r0n1", "r0n2", "r1n1", "r1n2"]),
        ("a[1,3]-ib.site,login", ["a1-ib.site", "a3-ib.site", "login"]),
        ("[1-2]", ["1", "2"]),
        ("n[1-2],,", ["n1", "n2"]),
        ("", []),
    ],
)
def test_host_list_names_hosts_in_its_order(text, hosts):
    assert expand_hosts(text) == hosts


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("n[9-1]", r"'n\[9-1\]' has the range 9-1, which runs backwards; write 1-9\."),
        ("n[1-100000000]", r"names 100,000,000 hosts, expected at most 1,048,576; correct its ranges\."),
        ("a[1-9999]b[1-9999]c[1-9999]", r"names 999,700,029,999 hosts, expected at most"),
        (f"n[1-{'9' * 5000}]", r"in a bracket, expected a number or a range"),
        ("n[a-b]", r"has 'a-b' in a bracket, expected a number or a range"),
        ("n[1-2]" * 9999, r"has a name of 19,998 pieces, expected at most 64"),
        ("n[]", r"has '' in a bracket"),
        ("n[²]", r"has '²' in a bracket"),
        ("n[1-2", r"has a bracket without its counterpart"),
        ("n1]", r"has a bracket without its counterpart"),
        ("n[1[2]]", r"has a bracket without its counterpart"),
    ],
)
def test_what_is_no_host_list_is_refused_with_a_remedy(text, sentence):
    with pytest.raises(NetworkError, match=sentence):
        expand_hosts(text)
