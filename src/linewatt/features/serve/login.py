# SPDX-License-Identifier: Apache-2.0
"""``/login``: where the printed URL, which contains the token, leads.

A browser keeps user and password of a URL for this server (scheme, name and port) and sends them with each
request. The redirect is to a URL without them, because ``fetch`` refuses URLs that contain a password. There
is no cookie: browsers send cookies to all ports of a name, which on loopback may be servers of other users.
"""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

router = APIRouter()


@router.get("/login")
async def leave_login_url(request: Request) -> Response:
    """Redirect to the list; the guard has checked token and Host."""
    return RedirectResponse(f"//{request.headers['host']}/", status_code=303)
