#!/usr/bin/env python3
open('/tmp/linewatt-was-here', 'w')
