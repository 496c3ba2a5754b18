/** The look of the pages: one column, the reader's own light or dark, dense, and large enough to touch. */
export const PAGE_STYLE = `
:root{color-scheme:light dark;--ink:#1d2430;--soft:#566072;--line:#d5dae3;--edge:#868f9f;--paper:#fff;--ground:#f3f5f8;--act:#1f5fbf;--on-act:#fff;--bad:#b3261e}
@media (prefers-color-scheme:dark){:root{--ink:#e8ebf1;--soft:#a8b1c2;--line:#3a4353;--edge:#79849a;--paper:#1b212c;--ground:#11151c;--act:#8ab6ff;--on-act:#10203a;--bad:#ffb4ab}}
*{box-sizing:border-box}
html{scroll-padding-bottom:6rem}
body{margin:0;background:var(--ground);color:var(--ink);font:1rem/1.45 system-ui,sans-serif}
main{max-width:36rem;margin:0 auto;padding:1.25rem 1.25rem 0;background:var(--paper);min-height:100vh}
@media (min-width:40rem){main{margin:3rem auto;padding:1.75rem 2rem 0;min-height:0;border:1px solid var(--line);border-radius:.75rem}}
main::after{content:"";display:block;height:1.25rem}
h1{font-size:1.35rem;line-height:1.25;margin:0 0 .35rem;overflow-wrap:anywhere}
h2{font-size:1.05rem;margin:1.5rem 0 .35rem}
p{margin:.35rem 0;overflow-wrap:anywhere}
ul{margin:.35rem 0;padding-left:1.2rem}
li{margin:.15rem 0}
.soft{color:var(--soft)}
.mark{font-family:ui-monospace,monospace;font-size:.9rem;overflow-wrap:anywhere}
fieldset{border:1px solid var(--line);border-radius:.5rem;margin:1rem 0 0;padding:.1rem .9rem .4rem;min-width:0}
legend{font-weight:600;padding:0 .35rem;margin-left:-.35rem}
.boxes{display:grid;grid-template-columns:repeat(auto-fill,minmax(13rem,1fr));column-gap:1rem}
.all{display:flex;flex-wrap:wrap;gap:.25rem .75rem;align-items:center;margin:.35rem 0}
label{display:flex;gap:.65rem;align-items:flex-start;padding:.4rem 0;min-height:2.75rem;cursor:pointer}
label span{min-width:0;overflow-wrap:anywhere}
label .soft,button .soft{display:block;font-size:.875rem;font-weight:400}
input[type=checkbox]{width:1.25rem;height:1.25rem;margin:.1rem 0 0;flex:none;accent-color:var(--act)}
.actions{display:flex;flex-wrap:wrap;gap:.75rem;margin-top:1rem}
.stay{position:sticky;bottom:0;padding:.75rem 0;background:var(--paper);border-top:1px solid var(--line)}
button{font:inherit;font-weight:600;padding:.6rem 1.1rem;min-height:2.75rem;border-radius:.5rem;border:1px solid var(--edge);background:transparent;color:var(--ink);cursor:pointer;flex:1 1 8rem;overflow-wrap:anywhere}
button.main{background:var(--act);border-color:var(--act);color:var(--on-act)}
button.small{flex:none;font-weight:400;padding:.3rem .75rem}
.choice{display:block;width:100%;text-align:left;margin:.5rem 0;padding:.6rem .9rem;border-radius:.5rem}
button.choice:hover{background:var(--ground)}
p.choice{border:1px dashed var(--line)}
button:focus-visible,input:focus-visible{outline:3px solid var(--act);outline-offset:2px}
.code{font:700 2rem/1.2 ui-monospace,monospace;letter-spacing:.12em;text-align:center;padding:.75rem;margin:.75rem 0;border:1px dashed var(--edge);border-radius:.5rem}
.notice{border-left:4px solid var(--bad);padding:.45rem .8rem;margin:.75rem 0;background:var(--ground)}
.error{color:var(--bad);font-weight:600}
`;
