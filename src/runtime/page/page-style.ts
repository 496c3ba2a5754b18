/**
 * The style of every page: one column, light or dark as the reader prefers, and controls large enough to
 * touch.
 */
export const PAGE_STYLE = `
:root{color-scheme:light dark;--ink:#1a2230;--soft:#545f72;--line:#dce1e9;--edge:#8a94a6;--paper:#fff;--ground:#eef1f6;--tint:#f1f6fe;--act:#1d5fc4;--press:#174d9f;--on-act:#fff;--bad:#b3261e;--bad-ground:#fdf1f0;--good:#1a7f4b}
@media (prefers-color-scheme:dark){:root{--ink:#e8ebf1;--soft:#a9b3c5;--line:#333c4b;--edge:#7b869b;--paper:#1a202b;--ground:#10141b;--tint:#202c40;--act:#8ab6ff;--press:#abcbff;--on-act:#0d1e3a;--bad:#ffb4ab;--bad-ground:#3a2322;--good:#6fd6a1}}
*{box-sizing:border-box}
[hidden]{display:none!important}
html{scroll-padding-bottom:6rem}
body{margin:0;background:var(--ground);color:var(--ink);font:1rem/1.5 system-ui,-apple-system,"Segoe UI",sans-serif;overflow-wrap:anywhere}
.masthead{display:flex;align-items:center;gap:.6rem;max-width:36rem;margin:0 auto;padding:.9rem 1.25rem;font-size:.875rem}
.masthead svg{flex:none;width:1.75rem;height:1.75rem;fill:var(--act)}
.masthead p{margin:0;line-height:1.3}
.masthead strong{display:block}
main{max-width:36rem;margin:0 auto;padding:1.5rem 1.25rem 0;background:var(--paper);border-top:1px solid var(--line);min-height:calc(100vh - 4rem)}
@media (min-width:40rem){.masthead{padding:2.5rem 0 1rem}main{margin:0 auto 3rem;padding:2rem 2.25rem 0;min-height:0;border:1px solid var(--line);border-radius:1rem;box-shadow:0 1px 2px rgb(15 23 42/.05),0 8px 28px rgb(15 23 42/.06)}}
main::after{content:"";display:block;height:1.75rem}
h1{font-size:1.5rem;line-height:1.25;letter-spacing:-.01em;margin:0 0 .4rem;text-wrap:balance}
h2{font-size:1.05rem;margin:1.75rem 0 .4rem}
p{margin:.4rem 0}
a{color:var(--act)}
ul{margin:.5rem 0;padding-left:1.2rem}
li{margin:.25rem 0}
code,.mark{font-family:ui-monospace,monospace;font-size:.85em}
.soft{color:var(--soft)}
.small{font-size:.8125rem}
.good{color:var(--good)}
fieldset{border:0;margin:1.5rem 0 0;padding:0;min-width:0}
legend{font-weight:650;font-size:1.05rem;padding:0;margin:0 0 .25rem}
.apart{border-left:3px solid var(--bad);background:var(--bad-ground);border-radius:.25rem .5rem .5rem .25rem;margin:.5rem 0 0;padding:.25rem .75rem}
.apart p{margin:.25rem 0 0;font-size:.875rem;font-weight:650;color:var(--bad)}
.boxes{display:grid;grid-template-columns:repeat(auto-fill,minmax(13rem,1fr));column-gap:1rem}
label{display:flex;gap:.7rem;align-items:flex-start;padding:.5rem 0;min-height:2.75rem;cursor:pointer}
label>span{min-width:0}
label .soft,.choice .soft{display:block;font-size:.875rem;font-weight:400}
label .small,.choice .small{font-size:.75rem}
input[type=checkbox]{width:1.25rem;height:1.25rem;margin:.12rem 0 0;flex:none;accent-color:var(--act)}
.actions{display:flex;flex-wrap:wrap;gap:.75rem;margin-top:1.25rem}
.stay{position:sticky;bottom:0;padding:.85rem 0;background:var(--paper);border-top:1px solid var(--line)}
button,.button{display:inline-block;font:inherit;font-weight:600;padding:.6rem 1.1rem;min-height:2.75rem;border-radius:.6rem;border:1px solid var(--edge);background:transparent;color:var(--ink);cursor:pointer;flex:1 1 8rem;text-align:center;text-decoration:none}
button:hover,.button:hover{background:var(--tint)}
button.main,.button.main{background:var(--act);border-color:var(--act);color:var(--on-act)}
button.main:hover,.button.main:hover{background:var(--press);border-color:var(--press)}
.choice{display:flex;flex-wrap:wrap;align-items:center;gap:.5rem 1rem;margin:.75rem 0;padding:.9rem 1rem;border:1px solid var(--line);border-radius:.75rem;background:var(--paper);color:var(--ink);text-decoration:none}
a.choice:hover,a.choice:focus-visible{border-color:var(--act);background:var(--tint)}
.choice>span:first-child{flex:1 1 12rem;min-width:0}
.choice ul{list-style:none;margin:0;padding:0}
.choice li{display:flex;flex-wrap:wrap;align-items:baseline;column-gap:.5rem;margin:.1rem 0}
.choice .small{margin-top:.35rem}
.go{flex:none;padding:.35rem .9rem;border-radius:.5rem;background:var(--act);color:var(--on-act)}
p.choice{border:1px dashed var(--line)}
.or{display:flex;align-items:center;gap:.85rem;margin:1.75rem 0 1.25rem;color:var(--soft);font-size:.875rem}
.or::before,.or::after{content:"";flex:1;border-top:1px solid var(--line)}
.or+h2{margin-top:0}
.back{margin:.5rem 0 0;font-size:.9375rem}
.back a{display:inline-block;padding:.35rem 0}
button:focus-visible,input:focus-visible,a:focus-visible{outline:3px solid var(--act);outline-offset:2px;border-radius:.35rem}
button:focus-visible{border-radius:.6rem}
.code{font:700 1.75rem/1.2 ui-monospace,monospace;letter-spacing:.1em;text-align:center;padding:.75rem;margin:.75rem 0;border:1px dashed var(--edge);border-radius:.75rem;background:var(--tint)}
.notice{border-left:4px solid var(--bad);border-radius:.25rem .5rem .5rem .25rem;padding:.55rem .9rem;margin:1rem 0;background:var(--bad-ground)}
.error{color:var(--bad);font-weight:600}
`;
