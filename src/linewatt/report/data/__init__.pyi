# SPDX-License-Identifier: Apache-2.0

from .column import VIEWS_SCHEMA_VERSION as VIEWS_SCHEMA_VERSION
from .iperf3 import iperf3_document as iperf3_document
from .iperf3 import why_no_iperf3_document as why_no_iperf3_document
from .openmetrics import openmetrics_text as openmetrics_text
from .parquet import parquet_table as parquet_table
from .query import Answer as Answer
from .query import run_query as run_query
