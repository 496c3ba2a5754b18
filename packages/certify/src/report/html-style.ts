/** The style of the HTML report: system fonts, muted colors, light and dark. */
export const STYLE = `
:root { color-scheme: light dark;
  --ink: light-dark(#1c2024, #e6e8ea); --soft: light-dark(#5d656d, #9aa2aa); --line: light-dark(#e3e6e9, #2c3136);
  --paper: light-dark(#fbfbfa, #15181b); --card: light-dark(#ffffff, #1c2024);
  --pass: light-dark(#2f7d57, #5fb68a); --fail: light-dark(#b3362c, #ef7f74);
  --differs: light-dark(#8a6412, #d9ac4e); --skip: light-dark(#a3a9af, #596068); }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 14px/1.45 system-ui, -apple-system, 'Segoe UI', sans-serif; }
main { max-width: 70rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
h1 { font-size: 1.35rem; font-weight: 620; margin: 0 0 .25rem; letter-spacing: -.01em; }
h2 { font-size: .95rem; font-weight: 620; margin: 1.75rem 0 .4rem; display: flex; gap: .6rem; align-items: baseline; }
h2 small { font-weight: 400; color: var(--soft); font-variant-numeric: tabular-nums; }
p { margin: 0 0 .4rem; } .soft { color: var(--soft); }
code, pre { font: 12.5px/1.5 ui-monospace, 'SF Mono', Menlo, Consolas, monospace; }
.bar { display: flex; height: .5rem; gap: 2px; border-radius: .25rem; overflow: hidden; margin: 1rem 0 .6rem; }
.bar i { display: block; min-width: 3px; }
.legend { display: flex; flex-wrap: wrap; gap: .35rem 1.4rem; font-variant-numeric: tabular-nums; }
.legend label { cursor: pointer; } .legend input { accent-color: var(--soft); margin: 0 .35rem 0 0; }
.pass { --tone: var(--pass); } .fail { --tone: var(--fail); }
.differs, .harness { --tone: var(--differs); } .skip { --tone: var(--skip); }
.bar i, .dot { background: var(--tone); }
.dot { display: inline-block; width: .55rem; height: .55rem; border-radius: 50%; flex: none; margin-top: .42rem; }
.list { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; overflow: hidden; }
details { border-top: 1px solid var(--line); } details:first-child { border-top: 0; }
summary { display: flex; gap: .7rem; padding: .42rem .8rem; cursor: pointer; list-style: none; }
summary::-webkit-details-marker { display: none; }
summary:hover { background: color-mix(in srgb, var(--line) 45%, transparent); }
summary:focus-visible { outline: 2px solid var(--soft); outline-offset: -2px; }
summary code { flex: 0 0 17rem; color: var(--soft); overflow-wrap: anywhere; padding-top: 1px; }
summary span.rule { flex: 1; } summary .time { color: var(--soft); font-variant-numeric: tabular-nums; }
.fail summary .rule, .differs summary .rule { font-weight: 560; } .skip summary .rule { color: var(--soft); }
.more { padding: .2rem .8rem .8rem 2.05rem; }
dl { display: grid; grid-template-columns: 6rem 1fr; gap: .15rem .8rem; margin: .2rem 0 .5rem; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; } .fail .found { color: var(--fail); }
pre { margin: .4rem 0 0; padding: .6rem .75rem; border-radius: .35rem; background: var(--paper);
  border: 1px solid var(--line); white-space: pre-wrap; overflow-wrap: anywhere; }
main:has(#show-pass:not(:checked)) details.pass, main:has(#show-fail:not(:checked)) details.fail,
main:has(#show-differs:not(:checked)) details.differs, main:has(#show-skip:not(:checked)) details.skip,
main:has(#show-harness:not(:checked)) details.harness { display: none; }
@media (max-width: 46rem) { summary { flex-wrap: wrap; } summary code { flex-basis: calc(100% - 1.5rem); }
  summary span.rule { padding-left: 1.25rem; } }
@media print { details { break-inside: avoid; } .legend input { display: none; } }
`;
