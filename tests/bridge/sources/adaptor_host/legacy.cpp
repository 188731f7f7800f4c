// SPDX-License-Identifier: BSD-3-Clause
// A program with its own adaptor for ParaView's legacy Catalyst and a pipeline in C++, which prints
// what it gets; neither knows of perfield. legacy CASE[,CASE ...] [SCRIPT ...]
// Each case is five steps.
#include <mpi.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vtkCPDataDescription.h>
#include <vtkCPInputDataDescription.h>
#include <vtkCPPipeline.h>
#include <vtkCPProcessor.h>
#include <vtkCPPythonPipeline.h>
#include <vtkCellData.h>
#include <vtkCompositeDataIterator.h>
#include <vtkCompositeDataSet.h>
#include <vtkDataArray.h>
#include <vtkDoubleArray.h>
#include <vtkImageData.h>
#include <vtkMultiBlockDataSet.h>
#include <vtkNew.h>
#include <vtkNonOverlappingAMR.h>
#include <vtkObjectFactory.h>
#include <vtkPartitionedDataSet.h>
#include <vtkPartitionedDataSetCollection.h>
#include <vtkPointData.h>
#include <vtkSmartPointer.h>
#include <vtkTable.h>
#include <vtkUnstructuredGrid.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

static std::string what;
static int rank_;

static void print(const char* where, vtkFieldData* data) {
  for (int i = 0; i < data->GetNumberOfArrays(); ++i) {
    vtkDataArray* a = vtkDataArray::SafeDownCast(data->GetAbstractArray(i));
    if (!a) continue;
    const vtkIdType n = a->GetNumberOfTuples();
    printf("seen %s %s %lld %.17g %.17g\n", where, a->GetName(), (long long)n,
           n ? a->GetTuple1(0) : 0, n ? a->GetTuple1(n - 1) : 0);
  }
}

static void print(vtkDataObject* object) {
  if (auto* grid = vtkDataSet::SafeDownCast(object)) {
    printf("grid %lld\n", (long long)grid->GetNumberOfPoints());
    print("points", grid->GetPointData());
    print("cells", grid->GetCellData());
    print("field", grid->GetFieldData());
  }
  if (auto* all = vtkCompositeDataSet::SafeDownCast(object)) {
    vtkSmartPointer<vtkCompositeDataIterator> at;
    at.TakeReference(all->NewIterator());
    for (at->InitTraversal(); !at->IsDoneWithTraversal(); at->GoToNextItem())
      print(at->GetCurrentDataObject());
  }
}

class Probe : public vtkCPPipeline {
 public:
  static Probe* New();
  vtkTypeMacro(Probe, vtkCPPipeline);
  int RequestDataDescription(vtkCPDataDescription* d) override {
    for (unsigned i = 0; i < d->GetNumberOfInputDescriptions(); ++i) {
      vtkCPInputDataDescription* input = d->GetInputDescription(i);
      input->GenerateMeshOn();
      if (what == "by_name")
        input->AddField("compute_time_s", vtkDataObject::POINT);
      else
        input->AllFieldsOn();
    }
    return 1;
  }
  int CoProcess(vtkCPDataDescription* d) override {
    if (what == "throw") throw std::runtime_error("thrown on purpose");
    for (unsigned i = 0; i < d->GetNumberOfInputDescriptions(); ++i)
      print(d->GetInputDescription(i)->GetGrid());
    fflush(stdout);
    return what != "fail";
  }
};
vtkStandardNewMacro(Probe);

static vtkSmartPointer<vtkImageData> image(int n) {
  auto grid = vtkSmartPointer<vtkImageData>::New();
  grid->SetDimensions(n, n, n);
  if (what == "own") {
    vtkNew<vtkDoubleArray> array;
    array->SetName("compute_time_s");
    array->SetNumberOfTuples(grid->GetNumberOfPoints());
    array->FillValue(7);
    grid->GetPointData()->AddArray(array);
  }
  return grid;
}

static vtkSmartPointer<vtkDataObject> data() {
  if (what == "none") return nullptr;
  if (what == "table") return vtkSmartPointer<vtkTable>::New();
  if (what == "empty") return vtkSmartPointer<vtkUnstructuredGrid>::New();
  if (what == "large") return image(50);
  if (what == "amr") {
    auto amr = vtkSmartPointer<vtkNonOverlappingAMR>::New();
    int blocks = 1;
    amr->Initialize(1, &blocks);
    return amr;
  }
  if (what == "blocks") {
    auto blocks = vtkSmartPointer<vtkMultiBlockDataSet>::New();
    vtkNew<vtkMultiBlockDataSet> inner;
    inner->SetBlock(0, image(3));
    inner->SetBlock(1, vtkSmartPointer<vtkUnstructuredGrid>::New());
    blocks->SetBlock(0, image(2));
    blocks->SetBlock(2, inner);  // and no block 1
    return blocks;
  }
  if (what == "partitions") {
    auto all = vtkSmartPointer<vtkPartitionedDataSetCollection>::New();
    vtkNew<vtkPartitionedDataSet> parts;
    parts->SetPartition(0, image(2));
    parts->SetPartition(1, image(4));
    all->SetPartitionedDataSet(0, parts);
    return all;
  }
  return image(3);
}

// With "page_end", a page of memory ends within the first input.
static vtkSmartPointer<vtkCPDataDescription> description() {
  static std::vector<vtkSmartPointer<vtkCPDataDescription>> all;
  for (bool fits = false; !fits;) {
    auto one = vtkSmartPointer<vtkCPDataDescription>::New();
    one->AddInput("input");
    fits = what != "page_end" ||
           reinterpret_cast<uintptr_t>(one->GetInputDescription(0)) % 4096 > 4000;
    all.push_back(one);
    if (all.size() > 100000) exit(1);
  }
  auto found = all.back();
  all.pop_back();
  return found;
}

static void output(vtkCPProcessor* processor, int step) {
  const auto d = description();
  if (what == "inputs") d->AddInput("second");
  d->SetTimeData(0.5 * step, 10 * step);
  if (!processor->RequestDataDescription(d)) return;
  auto object = data();
  d->GetInputDescriptionByName("input")->SetGrid(object);
  vtkSmartPointer<vtkImageData> other = image(5);
  if (what == "inputs") d->GetInputDescriptionByName("second")->SetGrid(other);
  auto* grid = vtkDataSet::SafeDownCast(object);
  const int before = grid ? grid->GetPointData()->GetNumberOfArrays() : 0;
  try {
    printf("processed %d\n", processor->CoProcess(d));
  } catch (const std::exception& error) {
    printf("caught %s\n", error.what());
    if (grid) grid->GetPointData()->Initialize();
  }
  if (grid && grid->GetPointData()->GetNumberOfArrays() != before) puts("arrays were left");
}

static void five_steps(vtkCPProcessor* processor, int first) {
  for (int step = first; step < first + 5; ++step) {
    volatile double sum = 0;
    for (int i = 0; i < 200000; ++i) sum = sum + std::sqrt(double(i));
    MPI_Barrier(MPI_COMM_WORLD);
    if (what == "fork" && step == first + 3) {
      fflush(stdout);
      const pid_t child = fork();
      if (!child) {
        output(processor, 99);
        fflush(stdout);
        _exit(0);
      }
      waitpid(child, nullptr, 0);
    }
    if (what != "some" || rank_ == 0) output(processor, step);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  vtkCPProcessor* processor = vtkCPProcessor::New();
  processor->Initialize();
  vtkNew<Probe> probe;
  processor->AddPipeline(probe);
  for (int i = 2; i < argc; ++i)
    if (auto pipeline = vtkCPPythonPipeline::CreateAndInitializePipeline(argv[i], 2))
      processor->AddPipeline(pipeline);
  std::istringstream cases(argv[1]);
  for (int first = 0; std::getline(cases, what, ','); first += 5) {
    printf("case %s\n", what.c_str());
    five_steps(processor, first);
  }
  processor->Finalize();
  processor->Delete();
  MPI_Finalize();
}
