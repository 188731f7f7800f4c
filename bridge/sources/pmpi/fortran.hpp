// SPDX-License-Identifier: BSD-3-Clause
//
// fortran.hpp - arguments of Fortran calls: each arrives by address, handles as integers. Wrappers
// pass them unchanged to the next Fortran function, and convert them to C only to count them by the
// same rules. MPICH's Fortran functions call its C functions: see fortran_frame.
#pragma once

#include <call.hpp>  // of the library that is built: these wrappers, or the injector's
#include <cstring>

#include "fortran_names.hpp"

namespace perfield::pmpi {

// mpif.h and `use mpi`; mpi_f08; mpi_f08 whose choice buffers are descriptors of arrays.
enum class Binding { mpifh, f08, f08ts };

// --- handles, statuses, logicals -----------------------------------------------------------------
// Converts to MPI_Comm or the like where one is expected.
template <typename InC>
struct Fortran {
  MPI_Fint value;
  operator InC() const noexcept;
};
using FortranRequest = Fortran<MPI_Request>;

#ifndef OMPI_MAJOR_VERSION  // MPICH: the same integers in both languages
template <typename InC>
Fortran<InC>::operator InC() const noexcept {
  return static_cast<InC>(value);
}
#else
#define PERFIELD_F2C_FUNCTIONS(X) \
  X(Comm, Comm)                   \
  X(Datatype, Type) X(Group, Group) X(Message, Message) X(Op, Op) X(Request, Request) X(Win, Win)
struct ToC {
#define PERFIELD_MEMBER(type, name) decltype(&::MPI_##name##_f2c) name;
  PERFIELD_F2C_FUNCTIONS(PERFIELD_MEMBER)
#undef PERFIELD_MEMBER
};
extern ToC to_c;
// The handles that a thread converted last, while they cannot name another object: predefined
// types, and communicators until one is freed.
template <typename InC>
struct LastInC {
  MPI_Fint number;
  InC handle;  // NULL: none
  uint64_t age;
};
inline constexpr int kLastInC = 4;  // a power of two
extern __thread LastInC<MPI_Comm> last_comms_in_c[kLastInC]
    __attribute__((tls_model("initial-exec")));
extern __thread LastInC<MPI_Datatype> last_types_in_c[kLastInC]
    __attribute__((tls_model("initial-exec")));
MPI_Comm find_in_c(MPI_Fint number, LastInC<MPI_Comm>& last) noexcept;
MPI_Datatype find_in_c(MPI_Fint number, LastInC<MPI_Datatype>& last) noexcept;
template <typename InC>
[[gnu::always_inline]] inline InC in_c(MPI_Fint number, LastInC<InC>* lasts) noexcept {
  LastInC<InC>& last = lasts[number & (kLastInC - 1)];
  const bool kept = last.number == number && last.handle &&
                    last.age == library.freed_age.load(std::memory_order_acquire);
  return __builtin_expect(kept, 1) ? last.handle : find_in_c(number, last);
}

#define PERFIELD_CONVERSION(type, conversion)                        \
  template <>                                                        \
  inline Fortran<MPI_##type>::operator MPI_##type() const noexcept { \
    return conversion;                                               \
  }
PERFIELD_CONVERSION(Comm, in_c(value, last_comms_in_c))
PERFIELD_CONVERSION(Datatype, in_c(value, last_types_in_c))
PERFIELD_CONVERSION(Group, to_c.Group(value))
PERFIELD_CONVERSION(Message, to_c.Message(value))
PERFIELD_CONVERSION(Op, to_c.Op(value))
PERFIELD_CONVERSION(Request, to_c.Request(value))
PERFIELD_CONVERSION(Win, to_c.Win(value))
#undef PERFIELD_CONVERSION
#endif

// Both MPIs give a status the same integers as in C, if INTEGER is int.
static_assert(sizeof(MPI_Fint) == sizeof(int),
              "This MPI was built for Fortran INTEGERs that are longer than C's int, which the "
              "wrappers cannot read; build perfield with an MPI whose INTEGER has 4 bytes.");
struct FortranStatus {
  MPI_Fint words[sizeof(MPI_Status) / sizeof(MPI_Fint)];
  operator MPI_Status() const noexcept {
    MPI_Status status;
    memcpy(&status, words, sizeof status);
    return status;
  }
};

// .true. differs between compilers; .false. is 0.
struct FortranLogical {
  MPI_Fint value;
  operator int() const noexcept { return value != 0; }
};

// Holds a value for a rule that takes its address, for the duration of that call.
template <typename InC>
struct Held {
  InC value;
  operator const InC*() const noexcept { return &value; }
};
template <typename InC, typename Given>
Held<InC> held(const Given& given) noexcept {
  return {given};
}

// --- the next Fortran functions, and addresses with a meaning ------------------------------------
#define PERFIELD_NUMBER(name) name,
enum class FortranName { PERFIELD_FORTRAN_NAMES(PERFIELD_NUMBER) count };
#undef PERFIELD_NUMBER

struct Meanings {
  const void *in_place, *status_ignore, *statuses_ignore;
};
struct FortranLibrary {
  void* functions[static_cast<int>(FortranName::count)];
  Meanings mpifh, f08;
};

// Runs once, at the first Fortran call, because most programs make none.
const FortranLibrary& find_fortran() noexcept;
extern std::atomic<const FortranLibrary*> fortran_found __attribute__((visibility("hidden")));
inline const FortranLibrary& fortran() noexcept {
  const FortranLibrary* found = fortran_found.load(std::memory_order_acquire);
  return __builtin_expect(!found, 0) ? find_fortran() : *found;
}
inline const Meanings& meanings(Binding binding) noexcept {
  return binding == Binding::mpifh ? fortran().mpifh : fortran().f08;
}

// The index that Fortran gives for the first of several requests: 1. (mpi_f08 of MPICH 4.0 has a
// bug and gives 0.) Call it after MPI_Init.
int first_number(Binding binding) noexcept;

template <typename Function>
struct NextFortran {
  Function* function;
  template <typename... Arguments>
  [[gnu::always_inline]] void operator()(Arguments... arguments) const {
    const void* before = fortran_frame;
    fortran_frame = __builtin_frame_address(0);
    function(arguments...);
    fortran_frame = before;
  }
};
template <typename Function>
NextFortran<Function> next_fortran(FortranName name) noexcept {
  return {reinterpret_cast<Function*>(fortran().functions[static_cast<int>(name)])};
}
#define PERFIELD_NEXT(name) next_fortran<decltype(name)>(FortranName::name)

#define PERFIELD_FORTRAN extern "C" __attribute__((visibility("default"))) void
// The same function under the name of compilers that append two underscores. (Not without any:
// libraries unrelated to MPI have functions like mpi_init.)
#define PERFIELD_ALIAS(name) \
  extern "C" __attribute__((visibility("default"), alias(#name "_"))) decltype(name##_) name##__;

// --- in the wrappers -----------------------------------------------------------------------------
// mpi_f08 may omit the error code. Inlined, so that the place of the call is the wrapper's caller.
class FortranCall : public Call {
 public:
  [[gnu::always_inline]] FortranCall(perfield_call kind, MPI_Fint*& ierror,
                                     const void* caller = __builtin_return_address(0),
                                     const void* frame = __builtin_frame_address(0)) noexcept
      : Call(kind, caller, frame) {
    if (!ierror) ierror = &own_error_;
  }
  [[gnu::always_inline]] ~FortranCall() {}

 private:
  MPI_Fint own_error_ = MPI_SUCCESS;
};

// A status to learn the sender from, also if the program ignores its status.
template <Binding binding>
FortranStatus* own_if_ignored(FortranStatus* given, FortranStatus* own) noexcept {
  return given == meanings(binding).status_ignore && following() ? own : given;
}

// The address of a choice buffer as in C, only for comparison with MPI_IN_PLACE. A descriptor
// begins with the address of the data.
template <Binding binding>
const void* buffer(const void* given) noexcept {
  if (binding == Binding::f08ts && given) memcpy(&given, given, sizeof given);
  return given == meanings(binding).in_place ? MPI_IN_PLACE : given;
}

}  // namespace perfield::pmpi
