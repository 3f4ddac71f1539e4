"""How the kernel is entered, and its devices."""

import glob
import os
import platform
import subprocess
import sys
import tty

from registry import proves


def read(path):
    with open(path) as file:
        return file.read().strip()


def bound(driver):
    """The devices that a virtio driver has taken."""
    return glob.glob(f"/sys/bus/virtio/drivers/{driver}/virtio*")


@proves("64BIT")
def long_mode():
    assert platform.machine() == "x86_64" and sys.maxsize > 2**32


@proves("SMP", "X86_MPPARSE")
def two_processors_without_acpi():
    assert not os.path.exists("/sys/firmware/acpi")
    assert len(os.sched_getaffinity(0)) == 2


@proves("PVH")
def entered_through_pvh():
    # arch/x86/platform/pvh/enlighten.c gives itself this loader number.
    assert read("/proc/sys/kernel/bootloader_type") == str(0xB0)


@proves("HYPERVISOR_GUEST", "PARAVIRT")
def paravirtualised():
    messages = subprocess.run(["dmesg"], check=True, capture_output=True, text=True).stdout
    assert "Booting paravirtualized kernel" in messages


@proves("KVM_GUEST")
def kvm_clock():
    # TCG is not KVM, so the clock cannot be used here; the kernel's symbols tell.
    with open("/proc/kallsyms") as symbols:
        assert any(line.split()[2] == "kvmclock_init" for line in symbols)


@proves("PRINTK")
def kernel_log():
    words = f"msb kernel-check {os.getpid()}"
    with open("/dev/kmsg", "w") as log:
        log.write(words + "\n")
    assert words in subprocess.run(["dmesg"], capture_output=True, text=True).stdout


@proves("VIRTIO", "VIRTIO_MMIO", "VIRTIO_MMIO_CMDLINE_DEVICES")
def devices_of_the_command_line():
    named = read("/proc/cmdline").count("virtio_mmio.device=")
    transports = glob.glob("/sys/bus/platform/drivers/virtio-mmio/virtio-mmio.*")
    assert named == len(transports) > 0
    assert glob.glob("/sys/bus/virtio/devices/*")


@proves("BLOCK", "BLK_DEV", "VIRTIO_BLK")
def disk_found_by_its_serial():
    disk = next(p for p in glob.glob("/sys/block/*/serial") if read(p) == "output").split("/")[3]
    sector = b"kernel-check".ljust(512, b"\0")
    with open(f"/dev/{disk}", "r+b", buffering=0) as file:
        file.write(sector)
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        file.seek(0)
        assert file.read(512) == sector


@proves("TTY", "HVC_DRIVER")
def console():
    file = os.open("/dev/hvc0", os.O_RDWR | os.O_NOCTTY)
    assert os.isatty(file)
    tty.setraw(file)
    os.close(file)


@proves("VIRTIO_CONSOLE")
def port_told_by_its_name():
    names = glob.glob("/sys/class/virtio-ports/*/name")
    port = next(path for path in names if read(path) == "msb-lab.port").split("/")[4]
    with open(f"/dev/{port}", "r+b", buffering=0) as file:
        assert file.write(b"hello") == 5


@proves("HW_RANDOM", "HW_RANDOM_VIRTIO")
def entropy():
    assert read("/sys/class/misc/hw_random/rng_current").startswith("virtio_rng")
    with open("/dev/hwrng", "rb", buffering=0) as source:
        assert any(source.read(16))


@proves("MEMORY_BALLOON", "VIRTIO_BALLOON")
def balloon():
    # The driver selects MEMORY_BALLOON and cannot be without it.
    assert bound("virtio_balloon")


@proves("PAGE_REPORTING")
def page_reporting():
    assert os.path.isfile("/sys/module/page_reporting/parameters/page_reporting_order")


@proves("DEVTMPFS")
def device_nodes():
    with open("/proc/mounts") as mounts:
        assert any(line.split()[1:3] == ["/dev", "devtmpfs"] for line in mounts)
    assert os.path.exists("/dev/vda")


@proves("VIRTIO_NET")
def network_driver():
    # The lab's machine has no network device for it to take.
    assert os.path.isdir("/sys/bus/virtio/drivers/virtio_net")
