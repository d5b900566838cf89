// Reverses sequences of different lengths in batches: with a plan that runs many times, and with
// DirectML's structs, checked against a feature level.
//
//     c++ sequences.cpp $(pkg-config --cflags --libs trundle) -o sequences && ./sequences
#include <cstdint>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <vector>

#include <trundle.h>

namespace {

void check(trundle_status status)
{
    if (status != TRUNDLE_OK) {
        throw std::runtime_error(trundle_last_error());
    }
}

struct FreePlan {
    void operator()(trundle_plan *plan) const { trundle_plan_free(plan); }
};
using Plan = std::unique_ptr<trundle_plan, FreePlan>;

void print(const std::vector<float> &values)
{
    for (const float value : values) {
        std::cout << value << ' ';
    }
    std::cout << '\n';
}

void planned(const std::vector<float> &data, const std::vector<std::uint32_t> &lengths)
{
    const std::vector<std::uint64_t> sizes = {3, 4}, rows = {3, 1};
    const trundle_tensor_desc tensor = {TRUNDLE_DTYPE_F32, 2, sizes.data(), nullptr};
    const trundle_tensor_desc lengths_tensor = {TRUNDLE_DTYPE_U32, 2, rows.data(), nullptr};

    trundle_plan *made = nullptr;
    check(trundle_reverse_subsequences_plan(&tensor, &lengths_tensor, lengths.data(), 1, &tensor,
                                            &made));
    const Plan plan(made);
    std::vector<float> out(data.size());
    check(trundle_plan_run(plan.get(), data.data(), out.data()));
    print(out);
}

void in_directml_form(const std::vector<float> &data, const std::vector<std::uint32_t> &lengths)
{
    const std::vector<std::uint32_t> sizes = {1, 1, 3, 4}, rows = {1, 1, 3, 1};
    TRUNDLE_BUFFER_TENSOR_DESC tensor = {TRUNDLE_DTYPE_F32, 4, sizes.data(), nullptr, 0};
    TRUNDLE_BUFFER_TENSOR_DESC lengths_tensor = {TRUNDLE_DTYPE_U32, 4, rows.data(), nullptr, 0};
    check(trundle_directml_minimum_buffer_bytes(&tensor, &tensor.TotalTensorSizeInBytes));
    check(trundle_directml_minimum_buffer_bytes(&lengths_tensor,
                                                &lengths_tensor.TotalTensorSizeInBytes));

    const TRUNDLE_REVERSE_SUBSEQUENCES_OPERATOR_DESC desc = {&tensor, &lengths_tensor, &tensor, 3};
    std::vector<float> out(data.size());
    check(trundle_directml_reverse_subsequences(&desc, TRUNDLE_FEATURE_LEVEL_2_1, data.data(),
                                                lengths.data(), out.data()));
    print(out);
}

} // namespace

int main()
{
    const std::vector<float> data = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    const std::vector<std::uint32_t> lengths = {2, 4, 3};
    try {
        planned(data, lengths);
        in_directml_form(data, lengths);
    } catch (const std::exception &error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
    return 0;
}
