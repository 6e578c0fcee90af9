// SPDX-License-Identifier: Apache-2.0
// A page that waits for results to be read looks again by itself.
"use strict";
setTimeout(() => location.reload(), 2000);
