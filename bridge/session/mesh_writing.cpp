// SPDX-License-Identifier: BSD-3-Clause
//
// mesh_writing.cpp - packs arrays and writes them as mesh and field entries; docs/stream.md has the
// layout.
#include <cstring>

#include "session/arrays.hpp"
#include "session/mesh.hpp"

namespace perfield {

Mesh::Part Mesh::part(const std::string& role, const perfield_array& array) {
  Part p{role, "", "", array, {}};
  if (!packed(array)) {
    p.own.resize(bytes_of(array));
    unsigned char* to = p.own.data();
    size_t width = facts(array.type)->bytes;
    for_each_number(array, [&](const unsigned char* from) {
      memcpy(to, from, width);
      to += width;
    });
  }
  return p;
}

void Mesh::write(EntryType type, uint64_t index, JsonObject& json, std::vector<Part>& parts) {
  static const char zeros[8] = {};
  constexpr size_t kLargestBody = size_t(2000) << 20;  // one write(2) moves less than 2 GiB
  std::string list = "[";
  size_t offset = 0;
  std::vector<iovec> vectors(2);
  for (Part& p : parts) {
    size_t bytes = bytes_of(p.array);
    JsonObject one;
    one.text("role", p.role);
    if (!p.name.empty()) one.text("name", p.name);
    if (!p.association.empty()) one.text("association", p.association);
    one.text("type", facts(p.array.type)->name)
        .integer("components", p.array.components)
        .integer("tuples", tuples(p.array))
        .natural("offset", offset);
    list += (list.size() > 1 ? "," : "") + one.str();
    const void* data = p.own.empty() ? p.array.data : p.own.data();
    if (bytes) vectors.push_back({const_cast<void*>(data), bytes});
    if (bytes % 8) vectors.push_back({const_cast<char*>(zeros), 8 - bytes % 8});
    offset += (bytes + 7) / 8 * 8;
  }
  json.raw("arrays", list + "]");
  if (offset > kLargestBody) {
    complain_("mesh", "a block of this rank's mesh or field takes " + std::to_string(offset) +
                          " bytes; at most " + std::to_string(kLargestBody) +
                          " can be stored; divide it into blocks");
    return;
  }
  std::string text = json.str();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  uint32_t lengths[2] = {uint32_t(text.size()), 0};
  vectors[0] = {lengths, sizeof lengths};
  vectors[1] = {text.data(), text.size()};
  file_.write_parts(type, index, vectors.data(), int(vectors.size()));
  if (copy_block_ && type == EntryType::mesh)
    copy_block_(index, vectors.data(), int(vectors.size()));
}

void Mesh::field(int block, const char* name, int association, const perfield_array& values) {
  std::string what = "field '" + std::string(name ? name : "") + "' of " + block_name(block);
  if (!name || !*name || !usable(what, values, 0)) return;
  for (Field& f : fields_) {
    if (f.block == block && f.name == name) {
      f.values = values;
      f.association = association;
      return;
    }
  }
  fields_.push_back({block, name, association, values});
}

void Mesh::write_fields(uint64_t step) {
  if (fields_.empty() || !version() || file_.failed()) return;
  for (const Field& f : fields_) {
    std::string what = "field '" + f.name + "' of " + block_name(f.block);
    if (!fits(what, f.block, f.association, f.values)) continue;
    JsonObject json;
    json.integer("block", f.block);
    std::vector<Part> parts;
    parts.push_back(part("field", f.values));
    parts.back().name = f.name;
    parts.back().association = f.association == PERFIELD_POINTS ? "point" : "cell";
    write(EntryType::field, step, json, parts);
  }
}

}  // namespace perfield
