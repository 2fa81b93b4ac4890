"""One page of every kind that the site has, by address; `RUN` and `PAIR` stand for names that follow from records."""

from __future__ import annotations

KINDS = [
    "index.html",
    "ar/index.html",
    "languages/ar.html",
    "locales.html",
    "locales/ko-KR.html",
    "models/meridian__meridian-large.html",
    "runs/RUN.html",
    "runs/RUN/ar.html",
    "compare.html",
    "compare.html?first=meridian__meridian-large&second=kestrel__kestrel-mini",
    "compare/PAIR.html",
    "judges.html",
    "method.html",
    "data.html",
    "changelog.html",
    "v/2026-11-30/index.html",
    "submit.html",
]
IN_ARABIC = [
    "ar/languages/ar.html",
    "ar/locales.html",
    "ar/locales/ko-KR.html",
    "ar/models/meridian__meridian-large.html",
    "ar/runs/RUN.html",
    "runs/RUN/ar.html?lang=ar",
    "ar/compare.html?first=meridian__meridian-large&second=kestrel__kestrel-mini",
    "ar/compare/PAIR.html",
    "ar/judges.html",
    "ar/method.html",
    "ar/data.html",
    "ar/changelog.html",
    "ar/v/2026-11-30/index.html",
    "ar/submit.html",
]
