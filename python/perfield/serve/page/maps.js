// SPDX-License-Identifier: BSD-3-Clause
// The colour maps that catalyst_scripts/palette.py names, as in matplotlib: 64 colours each, between which
// the page interpolates. viridis and magma are by Smith, van der Walt and Firing (CC0), RdBu by Brewer
// (Apache 2). A test compares them with matplotlib's.
export const MAPS = {
  viridis:
    '44015446075a470d6047136548186a481d6f482374482878472d7b46327e453781443b844240864045883e49893d4e8a' +
    '3a538b38588c365c8d34608d32648e31688e2f6c8e2d708e2c738e2a778e297b8e277f8e26828e24868e238a8d218e8d' +
    '20928c1f968b1f9a8a1f9e891fa18721a58523a98326ad812ab07f2fb47c35b7793bbb7542be714ac16d52c5695ac864' +
    '65cb5e6ece5877d15381d34d8bd64695d840a0da39aadc32b5de2bc0df25cae11fd5e21adfe318eae51af4e61efde725',
  magma:
    '00000402010903031206051a0a08220e0b2b130d34180f3d1d114722115029115a2f116336106b3d0f71440f764a1079' +
    '52137c59157e5f187f651a806b1d81721f817822817e24828426818b2981912b81982d809e2f7fa5317eab337cb2357b' +
    'ba3878c03a76c73d73cd4071d3436ed9466bdf4a68e44f64e95462ed5a5ff1605df4675cf66e5cf8765cfa7d5efb8560' +
    'fc8e64fd9668fe9d6cfea571feac76feb47bfebb81fec287feca8dfed194fed89afde0a1fde7a9fceeb0fcf6b8fcfdbf',
  RdBu_r:
    '05306109386d0e41791249841752901b5a9c1f63a8246aae2a71b22f79b53480b93a87bd3f8ec04695c4529dc85fa5cd' +
    '6eaed27bb6d687beda93c6de9dcbe1a7d0e4b1d5e7bbdaeac5dfeccfe4efd5e7f1dbeaf2e1edf3e7f0f4edf2f5f3f5f6' +
    'f8f4f2f9f0ebf9ebe3fae7dcfbe3d4fcdecdfdd9c4fbd0b9fac8aff8bfa4f7b799f6af8ef4a683f09c7beb9172e6866a' +
    'e17860dc6e57d7634fd25849cc4c44c6413ec13639bb2a34b61f2eae172aa21328960f278a0b257f082373042167001f',
};
