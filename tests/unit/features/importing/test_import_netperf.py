# SPDX-License-Identifier: Apache-2.0
"""``linewatt import`` of what netperf prints: its text, and its omni output as CSV and as keys."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.conftest import Run
from tests.unit.features.importing.test_import_captures import IMPORTS, codes, imported, refusal

from linewatt.features.importing.captures.measured_folder import Whole, manifest_of
from linewatt.features.importing.captures.options import Options
from linewatt.model import EndResult, Role, Trial

NETPERF = IMPORTS / "netperf" / "gen"
TCP, UDP, KEYS, CSV = (
    (NETPERF / name).read_text() for name in ("tcp.txt", "udp.txt", "omni.txt", "omni.csv")
)
FIRST = TCP[: TCP.index("MIGRATED", 1)]
TITLE = FIRST.splitlines()[0]
RR = f"""{TITLE.replace("STREAM", "REQUEST/RESPONSE")}
Local /Remote
Socket Size   Request  Resp.   Elapsed  Trans.
Send   Recv   Size     Size    Time     Rate
bytes  Bytes  bytes    bytes   secs.    per sec

16384  131072 1        1       10.00    75737.10
16384  131072
"""
WARNING = """!!! WARNING
!!! Desired confidence was not achieved within the specified iterations.
!!! This implies that there was variability in the test environment that
!!! must be investigated before going further.
!!! Confidence intervals: Throughput      : 7.724%
!!!                       Local CPU util  : 16.540%
!!!                       Remote CPU util : 15.540%

"""


def of(tmp_path: Path, text: str, *, name: str = "a.txt") -> Whole:
    """An import of one file of the host ``gen``."""
    (tmp_path / "gen").mkdir(exist_ok=True)
    (tmp_path / "gen" / name).write_text(text)
    return imported(tmp_path)


def why_not(tmp_path: Path, text: str) -> str:
    """Why the same is refused."""
    (tmp_path / "gen").mkdir(exist_ok=True)
    (tmp_path / "gen" / "a.txt").write_text(text)
    return refusal(tmp_path)


def only(whole: Whole) -> Trial:
    (made,) = whole.trials
    assert made.trial.status == "done", made.trial.reason
    return made.trial


def end(trial: Trial, role: Role) -> EndResult:
    found = trial.end(role)
    assert found is not None
    return found


def evidence(trial: Trial, code: str) -> str:
    (flag,) = [flag for flag in trial.flags if flag.code == code]
    return flag.evidence


def test_text_has_a_trial_a_test_with_what_the_receiver_counted_and_cores_of_both_ends(
    tmp_path: Path,
) -> None:
    whole = of(tmp_path, TCP)
    trials = [made.trial for made in whole.trials]
    assert [(one.number, one.repetition, one.status) for one in trials] == [(1, 1, "done"), (2, 2, "done")]
    (case,) = {one.case for one in trials}
    assert (case.test, case.load, case.sender, case.receiver) == ("tcp", "netperf", "gen", "dut")
    assert (case.instances, case.streams, case.direction, case.family) == (1, 1, "forward", "ipv4")
    assert [one.throughput_bps for one in trials] == pytest.approx([9414.84e6, 9413.02e6])
    assert [end(one, "sender").cpu_cores for one in trials] == pytest.approx([0.0513 * 8, 0.052 * 8])
    assert [end(one, "receiver").cpu_cores for one in trials] == pytest.approx([0.1102 * 8, 0.1095 * 8])
    assert evidence(trials[0], "told-by-the-other-end").endswith(
        "netperf's throughput, one mean of the whole test"
    )
    assert "gen/a.txt: netperf does not print when its test ran" in evidence(trials[0], "time-not-known")
    assert "rounded-figures" not in codes(whole)
    assert "whether a rate was asked for" in evidence(trials[0], "settings-unknown")
    settings = manifest_of(whole, "n", "s", Options())["campaign"]["settings"]
    assert settings == {
        "netperf.message": "16384",
        "netperf.send-socket": "16384",
        "netperf.receive-socket": "131072",
    }


def test_cpu_that_was_not_asked_for_is_missing_and_never_zero(tmp_path: Path) -> None:
    text = FIRST.replace("% S      % S ", "% S      % U ").replace(
        "11.02    0.357   0.767", "-1.00    0.357   -1.000"
    )
    trial = only(of(tmp_path, text))
    assert end(trial, "sender").cpu_cores == pytest.approx(0.0513 * 8)
    receiver = end(trial, "receiver")
    assert receiver.cpu_cores is None
    assert "not in netperf's output (-c adds its own host's, -C the other's)" in receiver.reasons["cpu_cores"]
    assert "not in netperf's output" in evidence(trial, "cpu-missing")


@pytest.mark.parametrize("letter", ["U", "T", "R", "?"])
def test_a_share_by_no_method_is_no_share(letter: str, tmp_path: Path) -> None:
    trial = only(of(tmp_path, FIRST.replace("% S      % S ", f"% {letter}      % M ")))
    assert end(trial, "sender").cpu_cores is None
    assert end(trial, "receiver").cpu_cores == pytest.approx(0.1102 * 8)


def test_a_share_of_cpus_whose_number_is_not_known_is_missing(tmp_path: Path) -> None:
    trial = only(of(tmp_path, KEYS.replace("LOCAL_CPU_COUNT=8\n", "").replace("REMOTE_CPU_COUNT=16\n", "")))
    assert end(trial, "sender").cpu_cores is None
    assert "whose number is not in its output" in end(trial, "sender").reasons["cpu_cores"]


def test_text_without_cpu_columns_of_maerts_goes_the_other_way(tmp_path: Path) -> None:
    text = """TCP MAERTS TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET6 to dut () port 0 AF_INET6 : demo
Recv   Send    Send
Socket Socket  Message  Elapsed
Size   Size    Size     Time     Throughput
bytes  bytes   bytes    secs.    KBytes/sec

131072  16384  16384    10.00     1149280.50
"""
    trial = only(of(tmp_path, text))
    case = trial.case
    assert (case.sender, case.receiver, case.direction, case.family) == ("dut", "gen", "reverse", "ipv6")
    assert trial.throughput_bps == pytest.approx(1149280.50 * 1024 * 8)


@pytest.mark.parametrize(
    ("unit", "bits"),
    [
        ("Bytes", 8),
        ("KBytes", 8 * 1024),
        ("MBytes", 8 * 1024**2),
        ("GBytes", 8 * 1024**3),
        ("10^3bits", 1e3),
        ("10^9bits", 1e9),
    ],
)
def test_units_of_the_header_count(unit: str, bits: float, tmp_path: Path) -> None:
    text = UDP.replace("10^6bits", unit).replace("588.80", "28.80").replace("471.04", "22.50")
    trial = only(of(tmp_path, text))
    assert trial.throughput_bps == pytest.approx(22.5 * bits, rel=1e-2)
    assert trial.offered_bps == pytest.approx(28.8 * bits, rel=1e-2)
    assert evidence(trial, "rounded-figures") == "gen/a.txt: netperf rounded its rates to ± 0.022 %"


def test_bits_that_are_bytes_are_refused(tmp_path: Path) -> None:
    assert "as which netperf prints bytes/s; let it print 10^6bits/s (-f m)" in why_not(
        tmp_path, UDP.replace("10^6bits", "10^0bits")
    )
    assert "is in Trans/s, which is not a rate of bytes" in why_not(
        tmp_path, UDP.replace("10^6bits", "Trans")
    )


def test_of_udp_the_first_line_was_sent_and_the_second_arrived(tmp_path: Path) -> None:
    trial = only(of(tmp_path, UDP))
    assert trial.case.test == "udp-1500"
    assert (trial.throughput_bps, trial.offered_bps) == pytest.approx((471.04e6, 588.8e6))
    assert (trial.packets, trial.lost_packets) == (500000, 100000)
    assert trial.lost_ratio == pytest.approx(0.2)
    assert "udp-loss" in {flag.code for flag in trial.flags}


@pytest.mark.parametrize(
    ("title", "receiver_bps"), [("MIGRATED UDP STREAM", 588.8e6), ("UDP UNIDIRECTIONAL SEND", 471e6)]
)
def test_cpu_time_of_udp_is_per_bytes_sent_and_before_2_5_per_those_that_arrived(
    title: str, receiver_bps: float, tmp_path: Path
) -> None:
    head = UDP.replace("MIGRATED UDP STREAM", title).splitlines()[0]
    text = f"""{head}
Socket  Message  Elapsed      Messages                   CPU      Service
Size    Size     Time         Okay Errors   Throughput   Util     Demand
bytes   bytes    secs            #      #   10^6bits/sec % SS     us/KB

212992    1472   10.00      500000      0     588.8     50.00    13.913
212992           10.00      400000            471.0     25.00    8.700

"""
    trial = only(of(tmp_path, text))
    assert end(trial, "sender").cpu_cores == pytest.approx(1.0)
    assert end(trial, "receiver").cpu_cores == pytest.approx(8.7e-6 * receiver_bps / 8 / 1024, rel=1e-3)


def test_sendfile_is_another_case(tmp_path: Path) -> None:
    text = FIRST.replace("MIGRATED TCP STREAM", "TCP SENDFILE")
    assert only(of(tmp_path, text)).case.factors == (("sendfile", "on"),)


def test_figures_without_a_header_are_those_of_the_header_above_and_that_is_told(tmp_path: Path) -> None:
    whole = of(
        tmp_path, f"{FIRST}131072  65536  65536    10.00       9300.00   5.13     11.02    0.357   0.767  \n"
    )
    assert [made.trial.throughput_bps for made in whole.trials] == pytest.approx([9414.84e6, 9300e6])
    assert len({made.trial.case.key for made in whole.trials}) == 2
    assert "figures without a header (-P 0) are of the test, units and hosts of the header above" in "".join(
        whole.notes
    )


def test_verbose_lines_are_no_figures_of_a_test(tmp_path: Path) -> None:
    verbose = """
Alignment      Offset         Bytes    Bytes       Sends   Bytes    Recvs
Local  Remote  Local  Remote  Xfered   Per                 Per
Send   Recv    Send   Recv             Send (avg)          Recv (avg)
    8       8      0       0 6545358848  16384.00    399497   52218.33 125346
"""
    assert len(of(tmp_path, FIRST + verbose).trials) == 1


@pytest.mark.parametrize(
    "text",
    [
        "131072  16384  16384    10.00    9415.05   \n",
        "212992    1472   10.00      500000      0     588.80\n212992           10.00      400000   471.04\n",
        "29387.47,10^6bits/s,2.00\n",
    ],
)
def test_figures_without_any_header_are_refused(text: str, tmp_path: Path) -> None:
    said = why_not(tmp_path, text)
    assert "is figures of netperf without their header: let netperf print it (-P 1)" in said


def test_figures_below_a_title_alone_are_refused(tmp_path: Path) -> None:
    lines = FIRST.splitlines(keepends=True)
    assert "without its header (-P 0), which says what the columns are" in why_not(
        tmp_path, lines[0] + lines[-1]
    )


def test_a_test_without_figures_has_failed_in_netperfs_words(tmp_path: Path) -> None:
    said = "netperf: send_omni: connect_data_socket failed: No route to host"
    (made,) = of(tmp_path, f"{TITLE}\n{said}\n").trials
    assert (made.trial.status, made.trial.reason) == ("failed", f"netperf: {said}")
    (made,) = of(tmp_path, f"{TITLE}\n").trials
    assert made.trial.reason == "netperf: its text ends before the figures of the test"


def test_what_says_that_no_test_began_is_refused_with_its_words(tmp_path: Path) -> None:
    said = why_not(
        tmp_path, "establish control: are you sure there is a netserver listening on dut at port 12865?\n"
    )
    assert "are you sure there is a netserver listening on dut at port 12865?', and no test began" in said


def test_warnings_of_confidence_make_figures_doubtful_and_means_are_told(tmp_path: Path) -> None:
    lines = FIRST.splitlines(keepends=True)
    title = lines[0].replace(" : demo", " : +/-2.500% @ 99% conf.  : demo")
    trial = only(of(tmp_path, "1795874000\n" + title + WARNING + "".join(lines[1:])))
    assert evidence(trial, "confidence-not-reached").endswith(
        "(confidence intervals: Throughput 7.724%, Local CPU util 16.540%, Remote CPU util 15.540%)"
    )
    assert "several times (-i) and printed the mean" in evidence(trial, "mean-of-iterations")
    assert "netperf ran its test several times (-i)" in evidence(trial, "time-not-known")
    trial = only(of(tmp_path, title + "".join(lines[1:])))
    assert "confidence-not-reached" not in {flag.code for flag in trial.flags}
    assert "mean-of-iterations" in {flag.code for flag in trial.flags}
    assert "mean-of-iterations" not in codes(of(tmp_path, FIRST))


def test_request_response_is_refused_by_name_and_left_out_beside_streams(tmp_path: Path) -> None:
    assert "holds netperf's TCP REQUEST/RESPONSE test; request/response is not read" in why_not(tmp_path, RR)
    keys = KEYS.replace("10^6bits/s", "Trans/s").replace("TCP MAERTS", "OMNI Send|Recv")
    assert "holds netperf's OMNI Send|Recv test" in why_not(tmp_path, keys)
    bare = "THROUGHPUT=70144.92\nTHROUGHPUT_UNITS=Trans/s\nPROTOCOL=TCP\n"
    assert "holds netperf's TCP request/response test" in why_not(tmp_path, bare)
    whole = of(tmp_path, FIRST + RR)
    assert only(whole).throughput_bps == pytest.approx(9414.84e6)
    assert "its TCP REQUEST/RESPONSE tests are left out" in "".join(whole.notes)


def test_other_tests_are_refused_by_name(tmp_path: Path) -> None:
    assert "holds netperf's SCTP STREAM test; of netperf, TCP_STREAM, TCP_MAERTS" in why_not(
        tmp_path, FIRST.replace("MIGRATED TCP", "SCTP")
    )


def test_a_stamp_on_the_line_before_dates_a_test(tmp_path: Path) -> None:
    trial = only(of(tmp_path, f"1795874000.25\n{FIRST}"))
    assert trial.started_s == pytest.approx(1795874000.5, abs=0.3)
    assert "time-not-known" not in {flag.code for flag in trial.flags}


def test_parallel_processes_with_stamps_are_instances_whose_hosts_cpu_counts_once(tmp_path: Path) -> None:
    of(tmp_path, f"1795874000.25\n{FIRST}", name="b.txt")
    trial = only(of(tmp_path, f"1795874000.25\n{FIRST}"))
    assert trial.case.instances == 2
    assert trial.throughput_bps == pytest.approx(2 * 9414.84e6)
    assert end(trial, "receiver").cpu_cores == pytest.approx(0.1102 * 8)


def test_mpstat_that_cannot_be_placed_does_not_hide_what_netperf_has(tmp_path: Path) -> None:
    whole = of(tmp_path, FIRST)
    (tmp_path / "gen" / "mpstat.txt").write_text((IMPORTS / "watts" / "dut" / "mpstat.txt").read_text())
    whole = imported(tmp_path)
    assert end(only(whole), "sender").cpu_cores == pytest.approx(0.0513 * 8)


def test_keys_have_interim_results_and_their_times(tmp_path: Path) -> None:
    whole = of(tmp_path, KEYS)
    trial = only(whole)
    assert (trial.case.sender, trial.case.receiver, trial.case.direction) == ("dut", "gen", "reverse")
    assert trial.started_s == pytest.approx(1795874000.0, abs=0.02)
    assert trial.throughput_bps == pytest.approx(9410e6)
    assert trial.retransmits == 12
    assert (end(trial, "receiver").cpu_cores, end(trial, "sender").cpu_cores) == pytest.approx((0.88, 0.8))
    assert {"time-not-known", "clock-assumed"}.isdisjoint(codes(whole))
    shorter = imported(tmp_path, omit_s=1.0).trials[0].trial
    assert shorter.throughput_bps == pytest.approx(9415e6)


def test_interim_results_of_text_and_csv_are_the_same(tmp_path: Path) -> None:
    lines = FIRST.splitlines(keepends=True)
    interims = "".join(
        f"Interim result: {rate}.00 10^6bits/s over 1.000 seconds ending at 179587400{at}.000\n"
        for at, rate in ((1, 9400), (2, 9420))
    )
    trial = only(of(tmp_path, lines[0] + interims + "".join(lines[1:])))
    assert trial.offered_bps == pytest.approx(9410e6)
    assert trial.started_s == pytest.approx(1795874000.0, abs=0.02)
    head, names, values = CSV.splitlines(keepends=True)
    trial = only(of(tmp_path, f"{head} 588.80,10^6bits/s,10.000,1795874010.000\n{names}{values}"))
    assert trial.started_s == pytest.approx(1795874000.0, abs=0.02)


def test_csv_has_what_its_header_names(tmp_path: Path) -> None:
    trial = only(of(tmp_path, CSV, name="a.csv"))
    assert trial.case.test == "udp-1500"
    assert (trial.throughput_bps, trial.offered_bps) == pytest.approx((471.04e6, 588.8e6))
    assert (trial.packets, trial.lost_packets) == (500000, 100000)


def test_a_line_of_csv_that_does_not_fit_its_header_is_refused(tmp_path: Path) -> None:
    assert "has a line of 3 values below a header of 10 names" in why_not(tmp_path, f"{CSV}1,2,3\n")


@pytest.mark.parametrize("name", ["THROUGHPUT_UNITS", "ELAPSED_TIME"])
def test_keys_that_are_needed_are_named_with_what_to_add(name: str, tmp_path: Path) -> None:
    text = "".join(line for line in KEYS.splitlines(keepends=True) if not line.startswith(f"{name}="))
    said = why_not(tmp_path, text)
    assert f"has no {name} in netperf's output; add it to what is printed (-- -k THROUGHPUT," in said


def test_omni_that_does_not_say_its_protocol_is_refused_with_what_to_add(tmp_path: Path) -> None:
    text = KEYS.replace("MIGRATED TCP MAERTS", "OMNI Receive")
    assert "has no PROTOCOL in netperf's output" in why_not(tmp_path, text)
    assert only(of(tmp_path, f"{text}PROTOCOL=TCP\n")).case.direction == "reverse"
    human = f"{TITLE.replace('MIGRATED TCP STREAM', 'OMNI Send')}\nLocal       Remote \n4194304     1026899\n"
    assert "omni output in columns for people; let netperf print CSV (-- -o) or keys" in why_not(
        tmp_path, human
    )


def test_what_was_sent_of_udp_is_missing_where_it_was_not_printed(tmp_path: Path) -> None:
    text = UDP.splitlines()[0] + (
        "\nLOCAL_SEND_SIZE=1472\nELAPSED_TIME=10.00\nTHROUGHPUT=471.04\nTHROUGHPUT_UNITS=10^6bits/s\n"
    )
    trial = only(of(tmp_path, text))
    assert trial.throughput_bps == pytest.approx(471.04e6)
    assert (trial.offered_bps, trial.packets, trial.lost_packets) == (None, None, None)


def test_without_a_control_connection_nobody_told_what_arrived(tmp_path: Path) -> None:
    lines = FIRST.splitlines(keepends=True)
    trial = only(of(tmp_path, lines[0].replace(" : demo", " : no control : demo") + "".join(lines[1:])))
    assert trial.throughput_bps is None
    assert trial.offered_bps == pytest.approx(9414.84e6)
    assert "without its control connection (-N)" in evidence(trial, "receiver-not-known")


def test_a_single_file_needs_the_names_of_its_ends(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "tcp.txt"
    file.write_text(FIRST)
    said = refusal(file)
    assert "netperf does not say of which host it is" in said
    assert "or name both ends (--sender, --receiver)" in said
    (made,) = imported(file, sender="gen", receiver="sut").trials
    assert (made.trial.case.sender, made.trial.case.receiver) == ("gen", "sut")
    status, _, said = run("import", str(file), "--sender", "gen", "--results", str(tmp_path / "results"))
    assert (status, said) == (0, "1 file of netperf stored as 1 trial of dut, gen\n")


def test_an_address_that_netperf_was_bound_to_names_its_host(tmp_path: Path) -> None:
    file = tmp_path / "tcp.txt"
    file.write_text(FIRST.replace("from 0.0.0.0 (0.0.0.0)", "from gen (192.0.2.1)"))
    assert only(imported(file)).case.sender == "192.0.2.1"


def test_both_ends_on_one_host_have_a_cpu_use_each(tmp_path: Path) -> None:
    trial = only(of(tmp_path, FIRST.replace("to dut ()", "to 127.0.0.1 ()")))
    assert (trial.case.sender, trial.case.receiver) == ("gen", "gen-server")
    assert end(trial, "receiver").cpu_cores == pytest.approx(0.1102 * 8)


def test_confidence_of_omni_is_in_its_keys(tmp_path: Path) -> None:
    more = "CONFIDENCE_ITERATION=5\nCONFIDENCE_INTERVAL=5.000000\nTHROUGHPUT_CONFID=7.250\n"
    trial = only(of(tmp_path, KEYS + more))
    assert evidence(trial, "confidence-not-reached").endswith("(confidence interval: 7.25 % instead of 5 %)")
    assert "mean-of-iterations" in {flag.code for flag in trial.flags}
    assert "several times (-i)" in evidence(trial, "time-not-known")
    assert trial.throughput_bps == pytest.approx(9410.1e6)
    once = "CONFIDENCE_ITERATION=1\nCONFIDENCE_INTERVAL=-1.000000\nTHROUGHPUT_CONFID=-1.000\n"
    assert {"mean-of-iterations", "confidence-not-reached"}.isdisjoint(codes(of(tmp_path, KEYS + once)))


def test_minus_one_of_omni_is_missing(tmp_path: Path) -> None:
    trial = only(of(tmp_path, KEYS.replace("RETRANS=12", "RETRANS=-1").replace("UTIL=5.00", "UTIL=-1.00")))
    assert trial.retransmits is None
    assert end(trial, "sender").cpu_cores is None


@pytest.mark.parametrize(("units", "cores"), [("usec/KB", 0.88), ("usec/Tran", None)])
def test_service_demand_counts_where_it_is_per_kb(units: str, cores: float | None, tmp_path: Path) -> None:
    """0.766 µs a KB of 9410 Mbit/s are 0.88 cores."""
    text = KEYS.replace("LOCAL_CPU_COUNT=8\n", f"LOCAL_SD=0.766\nSD_UNITS={units}\n")
    assert end(only(of(tmp_path, text)), "receiver").cpu_cores == (
        None if cores is None else pytest.approx(cores, rel=1e-3)
    )


def test_addresses_of_omni_tell_the_family_and_the_own_host(tmp_path: Path) -> None:
    file = tmp_path / "keys.txt"
    body = KEYS.split("\n", 1)[1]
    file.write_text(f"{body}PROTOCOL=TCP\nDIRECTION=Send\nSOURCE_ADDR=2001:db8::1\nDEST_ADDR=2001:db8::2\n")
    case = only(imported(file)).case
    assert (case.sender, case.receiver, case.family) == ("2001-db8-1", "2001-db8-2", "ipv6")


def test_keys_without_titles_are_a_test_each_time_they_begin_anew(tmp_path: Path) -> None:
    keys = "THROUGHPUT={}\nTHROUGHPUT_UNITS=10^6bits/s\nELAPSED_TIME=10.00\nPROTOCOL=TCP\nDIRECTION=Send\n"
    whole = of(tmp_path, f"1795874000\n{keys.format('9400.00')}1795874020\n{keys.format('9410.00')}")
    assert [made.trial.throughput_bps for made in whole.trials] == pytest.approx([9400e6, 9410e6])
    assert [made.trial.started_s for made in whole.trials] == pytest.approx(
        [1795874000.7, 1795874020.7], abs=0.3
    )


def test_interim_results_that_overlap_are_cut_and_those_that_go_back_are_refused(tmp_path: Path) -> None:
    late = KEYS.replace("INTERVAL[1]=1.000", "INTERVAL[1]=1.500").replace("RESULT[1]=9420", "RESULT[1]=4000")
    trial = only(of(tmp_path, late))
    assert trial.throughput_bps == pytest.approx((9400e6 + 4000e6 + 9410e6) / 3)
    back = KEYS.replace("ENDING[2]=1795874003.000", "ENDING[2]=1795874001.500")
    assert "interim results go back in time" in why_not(tmp_path, back)


def test_csv_is_no_table_and_a_rounded_rate_says_what_has_more_digits(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "a.csv"
    names, values = CSV.replace("471.04", "471.0").splitlines()[1:]
    names, values = names.removesuffix(",Command Line"), ",".join(values.split(",")[:9])
    file.write_text(f"Socket Type,{names}\nDatagram,{values}\n")
    status, _, said = run(
        "import", str(file), "--sender", "gen", "--receiver", "dut", "--results", str(tmp_path / "results")
    )
    assert (status, said) == (0, "1 file of netperf stored as 1 trial of dut, gen\n")
    trial = only(imported(file, sender="gen", receiver="dut"))
    (flag,) = [flag for flag in trial.flags if flag.code == "rounded-figures"]
    assert "without -f" in str(flag)


def test_omni_without_a_control_connection_has_no_receiver(tmp_path: Path) -> None:
    text = CSV.replace(" : demo", " : no control : demo", 1)
    trial = only(of(tmp_path, text))
    assert trial.throughput_bps is None
    assert trial.offered_bps == pytest.approx(588.8e6)


def test_a_stamp_without_a_zone_dates_nothing(tmp_path: Path) -> None:
    trial = only(of(tmp_path, f"2026-11-28T10:00:00\n{FIRST}"))
    assert "time-not-known" in {flag.code for flag in trial.flags}
