// SPDX-License-Identifier: BSD-3-Clause
//
// installed_interface.cpp - compiled only to check that the installed Score-P has the interface
// that substrate_interface.hpp declares. Not part of the plugin.
#include <scorep/SCOREP_SubstratePlugins.h>

#include "sources/scorep/substrate_interface.hpp"

namespace perfield::scorep {

static_assert(SCOREP_SUBSTRATE_PLUGIN_VERSION >= kInterfaceVersion, "an older Score-P");

// --- what a plugin hands over -------------------------------------------------------------------
using Theirs = SCOREP_SubstratePluginInfo;
static_assert(sizeof(Theirs) == sizeof(Info));
static_assert(offsetof(Theirs, plugin_version) == offsetof(Info, version));
static_assert(offsetof(Theirs, init) == offsetof(Info, init));
static_assert(offsetof(Theirs, assign_id) == offsetof(Info, assign_id));
static_assert(offsetof(Theirs, init_mpp) == offsetof(Info, init_mpp));
static_assert(offsetof(Theirs, finalize) == offsetof(Info, finalize));
static_assert(offsetof(Theirs, create_location) == offsetof(Info, of_locations));
static_assert(offsetof(Theirs, new_definition_handle) == offsetof(Info, new_definition));
static_assert(offsetof(Theirs, get_event_functions) == offsetof(Info, get_event_functions));
static_assert(offsetof(Theirs, set_callbacks) == offsetof(Info, set_callbacks));

// --- events -------------------------------------------------------------------------------------
static_assert(int(SCOREP_EVENT_ENABLE_RECORDING) == kEnableRecording);
static_assert(int(SCOREP_EVENT_DISABLE_RECORDING) == kDisableRecording);
static_assert(int(SCOREP_EVENT_ON_TRACING_BUFFER_FLUSH_BEGIN) == kFlushBegin);
static_assert(int(SCOREP_EVENT_ON_TRACING_BUFFER_FLUSH_END) == kFlushEnd);
static_assert(int(SCOREP_EVENT_ENTER_REGION) == kEnterRegion);
static_assert(int(SCOREP_EVENT_EXIT_REGION) == kExitRegion);
static_assert(int(SCOREP_EVENT_CALLING_CONTEXT_ENTER) == kCallingContextEnter);
static_assert(int(SCOREP_EVENT_CALLING_CONTEXT_EXIT) == kCallingContextExit);
static_assert(int(SCOREP_EVENT_MPI_SEND) == kMpiSend);
static_assert(int(SCOREP_EVENT_MPI_RECV) == kMpiReceive);
static_assert(int(SCOREP_EVENT_MPI_COLLECTIVE_END) == kMpiCollectiveEnd);
static_assert(int(SCOREP_EVENT_MPI_ISEND) == kMpiIsend);
static_assert(int(SCOREP_EVENT_MPI_IRECV) == kMpiIreceive);
static_assert(int(SCOREP_EVENT_RMA_PUT) == kRmaPut);
static_assert(int(SCOREP_EVENT_RMA_GET) == kRmaGet);
static_assert(int(SCOREP_EVENT_RMA_ATOMIC) == kRmaAtomic);
static_assert(int(SCOREP_EVENT_IO_OPERATION_BEGIN) == kIoBegin);
static_assert(int(SCOREP_EVENT_IO_OPERATION_ISSUED) == kIoIssued);
static_assert(int(SCOREP_EVENT_IO_OPERATION_COMPLETE) == kIoComplete);
static_assert(int(SCOREP_EVENT_IO_OPERATION_CANCELLED) == kIoCancelled);
static_assert(int(SCOREP_EVENT_MPI_NON_BLOCKING_COLLECTIVE_COMPLETE) == kMpiCollectiveComplete);
static_assert(int(SCOREP_SUBSTRATES_NUM_EVENTS) >= kEvents);

// --- callbacks ----------------------------------------------------------------------------------
using Given = SCOREP_SubstratePluginCallbacks;
constexpr bool is_at(size_t offset, CallbackPlace place) {
  return offset == place * sizeof(Callback);
}
static_assert(sizeof(Given) >= kCallbacks * sizeof(Callback));
static_assert(is_at(offsetof(Given, SCOREP_Ipc_GetSize), kIpcGetSize));
static_assert(is_at(offsetof(Given, SCOREP_Ipc_GetRank), kIpcGetRank));
static_assert(is_at(offsetof(Given, SCOREP_Location_GetType), kLocationGetType));
static_assert(is_at(offsetof(Given, SCOREP_CallingContextHandle_GetRegion),
                    kCallingContextGetRegion));
static_assert(is_at(offsetof(Given, SCOREP_MetricHandle_GetValueType), kMetricGetValueType));
static_assert(is_at(offsetof(Given, SCOREP_MetricHandle_GetName), kMetricGetName));
static_assert(is_at(offsetof(Given, SCOREP_MetricHandle_GetMode), kMetricGetMode));
static_assert(is_at(offsetof(Given, SCOREP_RegionHandle_GetName), kRegionGetName));
static_assert(is_at(offsetof(Given, SCOREP_RegionHandle_GetCanonicalName),
                    kRegionGetCanonicalName));
static_assert(is_at(offsetof(Given, SCOREP_RegionHandle_GetFileName), kRegionGetFileName));
static_assert(is_at(offsetof(Given, SCOREP_RegionHandle_GetBeginLine), kRegionGetBeginLine));
static_assert(is_at(offsetof(Given, SCOREP_SamplingSetHandle_GetNumberOfMetrics),
                    kSamplingSetGetSize));
static_assert(is_at(offsetof(Given, SCOREP_SamplingSetHandle_GetMetricHandles),
                    kSamplingSetGetMetrics));
static_assert(is_at(offsetof(Given, SCOREP_SamplingSetHandle_GetMetricOccurrence),
                    kSamplingSetGetOccurrence));
static_assert(is_at(offsetof(Given, SCOREP_SamplingSetHandle_IsScoped), kSamplingSetIsScoped));
static_assert(is_at(offsetof(Given, SCOREP_SamplingSetHandle_GetSamplingSetClass),
                    kSamplingSetGetClass));

// --- widths and values --------------------------------------------------------------------------
static_assert(sizeof(SCOREP_RegionHandle) == sizeof(Handle));
static_assert(sizeof(SCOREP_CallingContextHandle) == sizeof(Handle));
static_assert(int(SCOREP_SUBSTRATES_RECORDING_ENABLED) == 0);
static_assert(int(SCOREP_SUBSTRATES_RECORDING_DISABLED) == 1);
static_assert(int(SCOREP_LOCATION_TYPE_CPU_THREAD) == kCpuThread);

}  // namespace perfield::scorep
