# SPDX-License-Identifier: Apache-2.0
"""What kind of work a stack is: by the name of its innermost function, else by what the kernel does there."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from linewatt.features.profiles.perf.model import OUTSIDE, UNKNOWN, Function

IDLE = "idle"
UNRESOLVED = "unresolved"
OTHER = "other kernel"
USER = "user space"
ELSEWHERE = "others' user space"
"""of processes outside the host's PID namespace"""

_NAMES: Mapping[str, str] = {
    IDLE: """
        native_safe_halt pv_native_safe_halt default_idle* default_enter_idle intel_idle* acpi_idle_*
        acpi_safe_halt acpi_processor_ffh_cstate_enter mwait_idle* amd_e400_idle haltpoll* poll_idle
        cpu_idle_poll cpuidle_* call_cpuidle cpu_do_idle arch_cpu_idle* do_idle cpu_startup_entry
        tick_nohz_idle_*""",
    "copy": """
        copy_user* *copy_to_user* *copy_from_user* raw_copy_* copyin copyout *copy_to_iter* *copy_from_iter*
        memcpy* __memcpy* memmove* __memmove* rep_movs* skb_copy_* *skb_datagram_iter *_datagram_from_iter
        __check_object_size check_heap_object check_stack_object""",
    "checksum": "csum_* __csum_* do_csum skb_checksum* __skb_checksum* *_checksum* crc32c* ip_fast_csum",
    "filtering": """
        nf_* nft_* ipt_* ip6t_* xt_* tcf_* __tcf_* cls_* u32_* fl_classify fl_mask_* bpf_* __bpf_* ___bpf_*
        tc_run basic_classify mall_classify sch_handle_* em_*""",
    "scheduling": """
        schedule* __schedule* __sched* sched_* pick_next_* pick_task* try_to_wake_up ttwu_* enqueue_task*
        enqueue_entity dequeue_task* dequeue_entit* update_curr* update_load* update_rq* update_cfs*
        update_sg* update_sd* update_se* finish_task_switch* __switch_to* context_switch load_balance psi_*
        select_task_rq* wake_up_* __wake_up* autoremove_wake_function default_wake_function resched_*
        check_preempt_* wakeup_preempt put_prev_* set_next_* newidle_balance prepare_task_switch switch_mm*
        switch_fpu_return available_idle_cpu do_sched_yield""",
    "memory": """
        kmem_cache_* kmalloc* __kmalloc* kzalloc* kfree* __kfree* alloc_skb* __alloc_skb alloc_pages*
        __alloc_pages* __alloc_frozen* page_pool_* page_frag_* free_page* __free_page* free_unref*
        free_frozen* free_one_page skb_release_* skb_free_* *kfree_skb* sk_skb_reason_drop *slab_alloc*
        *slab_free* ___slab_* get_page_from_freelist build_skb* __build_skb* napi_alloc_* napi_build_skb
        rmqueue* skb_page_frag_refill put_page __folio_put consume_skb napi_consume_skb clear_page* memset*
        __memset*""",
    "locks": """
        *spin_lock* *spin_unlock* mutex_* __mutex_* osq_lock rwsem_* down_* up_read* up_write* lock_sock*
        __lock_sock* release_sock __release_sock futex* do_futex *local_bh_* queued_*_slowpath""",
    "driver": """
        veth_* virtnet_* virtqueue_* vring_* detach_buf* skb_xmit_done skb_recv_done vp_* mlx4_* mlx5_*
        mlx5e_* ixgbe* i40e_* iavf_* ice_* igb_* igc_* e1000* bnxt_* bnx2x_* ena_* tg3_* rtl8* vmxnet3_*
        netvsc_* gve_* qede_* qed_* cxgb* nfp_* hns3_* dma_map* dma_unmap* iommu_* swiotlb_*""",
}  # fmt: skip
_CONTEXTS: Mapping[str, str] = {
    "softirq": "handle_softirqs __do_softirq do_softirq* run_ksoftirqd net_rx_action net_tx_action napi_thr*",
    "interrupts": "asm_sysvec* asm_common_interrupt common_interrupt sysvec_* do_IRQ el1h_*irq* el0_irq",
    "system calls": """
        do_syscall_64 entry_SYSCALL_* x64_sys_call el0_svc* do_el0_svc ret_fast_syscall __x64_sys_*
        __arm64_sys_* invoke_syscall* system_call* do_fast_syscall_32""",
}
GROUPS = (*(name for name in _NAMES if name != IDLE), *_CONTEXTS, OTHER, USER, ELSEWHERE, UNRESOLVED)
"""in which busy samples fall, each in one"""
_FILTERS = "bpf nf_* nft_* x_tables ip_tables ip6_tables iptable_* ip6table_* xt_* cls_* act_* em_*"
_NO_DRIVERS = (
    "sch_* vxlan geneve bridge 8021q bonding tcp_* udp_* ip_* ip6_* ipv6 overlay ext4 xfs btrfs kvm*"
)
"""modules that are no drivers"""


def _pattern(names: str) -> re.Pattern[str]:
    return re.compile("|".join(re.escape(name).replace(r"\*", ".*") for name in names.split()))


_BY_NAME = {name: _pattern(names) for name, names in _NAMES.items()}
_BY_CONTEXT = {name: _pattern(names) for name, names in _CONTEXTS.items()}
_FILTER_MODULES, _OTHER_MODULES = _pattern(_FILTERS), _pattern(_NO_DRIVERS)


def group_of(stack: Sequence[Function]) -> str:
    """The kind of work of a stack (the outermost function first): one of :data:`GROUPS`, or :data:`IDLE`."""
    if stack and stack[-1].symbol == OUTSIDE:
        return ELSEWHERE
    if not stack or stack[-1].symbol == UNKNOWN:
        return UNRESOLVED
    innermost = stack[-1]
    if not innermost.in_kernel:
        return USER
    named = _named(innermost.symbol, innermost.binary)
    if named is not None:
        return named
    for name, pattern in _BY_CONTEXT.items():
        if any(function.in_kernel and pattern.fullmatch(function.symbol) for function in stack):
            return name
    return OTHER


@lru_cache(1 << 14)
def _named(symbol: str, binary: str) -> str | None:
    module = binary.partition(": ")[2]
    if _FILTER_MODULES.fullmatch(module):
        return "filtering"
    kind = next((name for name, pattern in _BY_NAME.items() if pattern.fullmatch(symbol)), None)
    if kind is None and module and not _OTHER_MODULES.fullmatch(module):
        return "driver"
    return kind
