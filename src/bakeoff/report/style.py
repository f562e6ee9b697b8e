"""The page's colours and measures: dark on light, light on dark as the reader has it, and on paper.

Right is blue, wrong is orange and dashed: they differ for the colour-blind and in print.
"""

STYLE = """
:root { color-scheme: light dark; --ink: #1c1f24; --paper: #fff; --soft: #5d6673; --line: #8885; --faint: #8882;
 --bar: #4a7bd0; --right: #0b6fb8; --wrong: #b35900; --card: #8881;

 --c0: #1f77b4; --c1: #d9730d; --c2: #2a9a3a; --c3: #c0392b; --c4: #8458b3; --c5: #8c5a4a; --c6: #d160a8; --c7: #5b6670;
 --c8: #9a9a1f; --c9: #14a3b8 }
@media (prefers-color-scheme: dark) { :root { --ink: #e8eaed; --paper: #16181c; --soft: #9aa3af; --bar: #6b9bef;
 --right: #56b4e9; --wrong: #f0a030; --c0: #62aee8; --c1: #ffa04d; --c2: #63cf73; --c3: #f07c6c; --c4: #b797e0;
 --c5: #c49a8a; --c6: #ee9ad0; --c7: #aab4be; --c8: #d5d55f; --c9: #5fd3e6 } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 76rem;
 margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.6rem; margin-bottom: .2rem } h2 { font-size: 1.2rem; margin: 2.4rem 0 .6rem }
h3 { font-size: 1rem; margin: 0 0 .3rem } .soft { color: var(--soft) } p { max-width: 62rem }
.cards { display: flex; flex-wrap: wrap; gap: .8rem; margin: 1rem 0 }
.cards > div { background: var(--card); border-radius: .5rem; padding: .7rem 1rem; min-width: 8.5rem }
.cards b, .cards strong, .cards .soft { display: block } .cards strong { font-size: 1.5rem; line-height: 1.3 }
.cards b { font-weight: 600; color: var(--soft); font-size: .85rem } .cards .soft { font-size: .85rem }
.cards .big { border-left: 4px solid var(--bar) } .cards .big strong { font-size: 2.1rem }
.scale { position: relative; height: 6px; background: var(--faint); border-radius: 3px; margin-top: .4rem }
.scale span { position: absolute; top: 0; height: 6px; border-radius: 3px }
.scale .range { background: var(--bar); opacity: .55 } .scale .point { width: 2px; background: var(--ink) }
table { border-collapse: collapse } td, th { padding: .15rem .9rem .15rem 0; text-align: left; vertical-align: top }
th { font-weight: 600; color: var(--soft); font-size: .85rem }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
tr + tr td { border-top: 1px solid var(--line) } .bars .n { padding-right: .5rem }
.track { width: 5.5rem; vertical-align: middle }
.bar { display: block; height: .6em; background: var(--bar); border-radius: 2px }
.charts { display: flex; flex-wrap: wrap; gap: 1.5rem 2rem } .charts > div { width: 23rem; max-width: 100% }
svg { display: block; width: 100%; height: auto } .charts text { font: 11px system-ui, sans-serif; fill: var(--soft) }
.grid { stroke: var(--faint) } .line { fill: none; stroke-width: 1.5 }
.line.strong { stroke: var(--ink); stroke-width: 2.5 }
.mark { stroke: var(--wrong); stroke-dasharray: 4 3 } .dot { fill: var(--ink) }
.legend { display: flex; flex-wrap: wrap; gap: .1rem .9rem; font-size: .8rem } .legend i { display: inline-block;
 width: .9rem; height: .2rem; margin-right: .3rem; vertical-align: middle }
.gallery { display: flex; flex-wrap: wrap; gap: 1rem } figure { margin: 0; break-inside: avoid }
.pair { width: 24rem }
.one { width: 11rem } .strip { width: 24rem } .panels { display: flex; gap: 4px }
.panels svg { flex: 1; min-width: 0 }
figure { max-width: 100% } .panels svg { outline: 1px solid var(--line); outline-offset: -1px }
figcaption { font-size: .82rem; overflow-wrap: anywhere }
.right { color: var(--right) } .wrong { color: var(--wrong) }
figure rect { fill: none; stroke-width: 2; vector-effect: non-scaling-stroke }
figure text { font-family: system-ui, sans-serif; font-weight: 600; paint-order: stroke;
 stroke: #000c; stroke-width: .25em; stroke-linejoin: round }
rect.true { stroke: #fff } text.true { fill: #fff } rect.missed { stroke: #f09600; stroke-dasharray: 6 3 }
text.missed { fill: #f09600 } rect.right { stroke: #56b4e9 } text.right { fill: #56b4e9 }
rect.wrong { stroke: #f09600; stroke-dasharray: 6 3 } text.wrong { fill: #f09600 }
.true-key { border-bottom: 2px solid var(--soft) } .missed-key { border-bottom: 2px dashed var(--wrong) }
.confusion { font-size: .8rem; overflow-x: auto }
.confusion td, .confusion th { padding: .2rem .4rem; border: 1px solid var(--faint); text-align: center;
 font-variant-numeric: tabular-nums }
.confusion th { max-width: 6rem; overflow-wrap: anywhere }
.confusion .same { font-weight: 700 }
@media print { :root { color-scheme: light; --ink: #000; --paper: #fff; --soft: #444; --bar: #4a7bd0;
 --right: #0b5c99; --wrong: #994c00 }
 body { margin: 0; max-width: none; font-size: 11px } h2 { break-after: avoid } .pair, .strip { width: 32% }
 .one { width: 18% }
 * { print-color-adjust: exact; -webkit-print-color-adjust: exact }
 tr, .cards > div, .charts > div { break-inside: avoid } }
"""
