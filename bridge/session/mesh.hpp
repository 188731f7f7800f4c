// SPDX-License-Identifier: BSD-3-Clause
//
// mesh.hpp - this rank's piece of the mesh as the program describes it. Writes each block at once,
// under the present version; notes fields and writes them when a step closes. Used under the
// session's lock, off the hot path. May allocate (std::bad_alloc reaches the session).
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "format/append.hpp"
#include "format/json.hpp"
#include "perfield.h"

namespace perfield {

// How large this rank's piece is: its own cells and points, and the ghost cells beside them.
struct MeshSize {
  int64_t cells = 0, points = 0, ghost_cells = 0;
};

class Mesh {
 public:
  struct Field {
    int block;
    std::string name;
    int association;
    perfield_array values;
  };

  // path: the node's mesh file, opened at the first description. complain(topic, sentence): reports
  // a wrong description, which is then left out. may_take(bytes, block): whether a block may take
  // so many there; once it may not, nothing more is written. instead: where to go on if path is
  // staged and fails, else "".
  void start(const std::string& path, const std::string& instead, uint64_t run_id, int rank,
             std::function<bool(uint64_t, const std::string&)> may_take,
             std::function<void(const std::string&, const std::string&)> complain);

  void image(int block, const int64_t extent[6], const double origin[3], const double spacing[3]);
  void rectilinear(int block, const int64_t extent[6], const perfield_array& x,
                   const perfield_array& y, const perfield_array& z);
  void structured(int block, const int64_t extent[6], const perfield_array& points);
  void unstructured(int block, const perfield_array& points, const perfield_array& connectivity,
                    const perfield_array& offsets, const perfield_array& types, int first_number);
  void ghosts(int block, int association, const perfield_array& ghosts);
  void changed();
  // The size of a grid of this rank that only the program knows. Grids add up; one that was
  // described since the last entry replaces itself. Counts only where no block was described.
  void set_size(const void* grid, const MeshSize& size);
  void field(int block, const char* name, int association, const perfield_array& values);

  // Also passes on blocks as they are written: the version and the parts of the entry's body.
  using BlockCopier = std::function<void(uint64_t, const iovec*, int)>;
  void copy_blocks_to(BlockCopier copier) { copy_block_ = std::move(copier); }

  // A step was closed on this version: the next description begins a new one.
  void shown() { shown_ = version_; }

  // An entry, of a step or of the setup, holds the sizes: the next one that is set replaces all.
  void sizes_written() { grid_sizes_are_old_ = true; }

  // Writes all noted fields as those of this step.
  void write_fields(uint64_t step);

  // Writes blocks again that could not be written. The second: now, or else they are missing.
  void try_again() {
    if (!waiting_.empty()) write_waiting();
  }
  void try_last() noexcept;

  bool has_fields() const { return !fields_.empty(); }
  const std::vector<Field>& fields() const { return fields_; }
  // The newest version, and the newest that is on disk or waits for it; 0: none.
  uint16_t described() const { return no_more_ ? 0 : version_; }
  uint16_t version() const { return no_more_ || is_over_ ? 0 : version_; }
  Appender& file() { return file_; }
  // On disk, or waiting for it.
  uint64_t bytes() const { return file_.bytes_written() + waiting_bytes_; }
  uint64_t bytes_of_fields() const;
  // The size of the newest version; nothing where the program has not described a mesh.
  std::optional<MeshSize> size() const;

 private:
  struct Part {
    std::string role, name, association;
    perfield_array array;
    std::vector<unsigned char> own;  // a packed or changed copy; empty: uses the program's memory
  };
  struct Size {
    int64_t points, cells;
    int64_t ghost_points = 0, ghost_cells = 0;
  };

  bool begin_version(int block);
  void empty(int block);
  Part part(const std::string& role, const perfield_array& array);

  // Returns false, and a sentence, for a wrong description.
  bool counted(int block);
  bool framed(int block, const int64_t extent[6]);
  bool finite(const char* what, int block, const double numbers[3]);
  bool usable(const std::string& what, const perfield_array& array, int components);
  bool whole_numbers(const std::string& what, const perfield_array& array);
  bool fits(const std::string& what, int block, int association, const perfield_array& array);
  static std::string block_name(int block);
  static bool is_empty(const int64_t extent[6]);
  static Size size_of(const int64_t extent[6]);

  struct Waiting {
    uint64_t version;
    std::vector<unsigned char> body;
  };
  void write_waiting() noexcept;
  // Copies a block that could not be written: its memory is the program's.
  void keep(uint64_t version, const iovec* parts, int n_parts) noexcept;

  // block: number, for what is written of the mesh.
  void write(EntryType type, uint64_t index, JsonObject& json, std::vector<Part>& parts,
             int block = 0);
  // Whether the present version has its place on disk, with these bytes more.
  bool has_place(uint64_t bytes, int block);

  std::string path_, instead_;
  uint64_t run_id_ = 0;
  int rank_ = 0;
  std::function<void(const std::string&, const std::string&)> complain_;
  BlockCopier copy_block_;
  Appender file_;
  std::deque<Waiting> waiting_;  // in their order
  size_t waiting_bytes_ = 0;
  uint16_t version_ = 0, shown_ = 0;
  bool version_open_ = false;  // further blocks belong to version_
  bool no_more_ = false;       // no number for another version: steps appear without a mesh
  bool is_over_ = false;       // nothing more is written: the same on disk
  std::function<bool(uint64_t, const std::string&)> may_take_;
  std::map<int, Size> sizes_;  // of the blocks of version_
  std::map<const void*, MeshSize> grid_sizes_;
  bool grid_sizes_are_old_ = false;
  std::vector<Field> fields_;
};

}  // namespace perfield
