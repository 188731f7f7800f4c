// SPDX-License-Identifier: BSD-3-Clause
//
// field_names.hpp - what the fields of a frame are called: perfield's own names, and the rule by
// which a region's name becomes the beginning of its fields' names. Stated here for the measured
// program and for Python; perfield/run/fields.py says what each field means. Pure functions.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace perfield {

inline constexpr std::array<const char*, 3> kRegionSuffixes = {"_time_s", "_count", "_self_time_s"};
// Of what passed inside it: time in MPI, in its classes in the order of perfield_time_class, in
// files, and without them.
inline constexpr std::array<const char*, 9> kInsideSuffixes = {
    "_mpi_time_s",          "_mpi_p2p_time_s", "_mpi_wait_time_s",  "_mpi_collective_time_s",
    "_mpi_onesided_time_s", "_mpi_io_time_s",  "_mpi_other_time_s", "_file_time_s",
    "_compute_time_s"};
inline constexpr std::array<const char*, 2> kCallSuffixes = {"_count", "_bytes"};

// Every name that no region's field may have.
const std::vector<std::string>& reserved_field_names();

// A name that any expression takes: each character that is not an ASCII letter, digit or
// underscore becomes `_`; a leading digit gets `_` before it. Text in UTF-8.
std::string identifier(std::string_view name);

// A region's name as an identifier, with `region_` before it if one of its fields, or the region
// itself, would be called as something of perfield's own.
std::string region_stem(std::string_view name);

// The names of a region's fields, in the order of kRegionSuffixes.
std::array<std::string, 3> region_fields(const std::string& stem);

// The names of the fields of what passed inside it, in the order of kInsideSuffixes. A run has
// those only that occurred in some region; their names are taken all the same.
std::array<std::string, kInsideSuffixes.size()> inside_fields(const std::string& stem);

// The region's stem, with `_2`, `_3`, ... if one of its fields has a name that is taken.
std::string unique_stem(std::string_view name,
                        const std::function<bool(const std::string&)>& is_taken);

}  // namespace perfield
