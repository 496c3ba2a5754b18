/** The look of the pages: one column, the reader's own light or dark, large enough to touch. */
export const PAGE_STYLE = `
:root{color-scheme:light dark;--ink:#1d2430;--soft:#566072;--line:#d5dae3;--paper:#fff;--ground:#f3f5f8;--act:#1f5fbf;--on-act:#fff}
@media (prefers-color-scheme:dark){:root{--ink:#e8ebf1;--soft:#a8b1c2;--line:#3a4353;--paper:#1b212c;--ground:#11151c;--act:#8ab6ff;--on-act:#10203a}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:1rem/1.5 system-ui,sans-serif}
main{max-width:34rem;margin:0 auto;padding:1.5rem 1.25rem;background:var(--paper);min-height:100vh}
@media (min-width:40rem){main{margin:3rem auto;padding:2rem 2.25rem;min-height:0;border:1px solid var(--line);border-radius:.75rem}}
h1{font-size:1.4rem;line-height:1.25;margin:0 0 1rem;overflow-wrap:anywhere}
h2{font-size:1.05rem;margin:1.75rem 0 .5rem}
p{margin:.5rem 0;overflow-wrap:anywhere}
.soft{color:var(--soft)}
fieldset{border:1px solid var(--line);border-radius:.5rem;margin:1.25rem 0;padding:.25rem 1rem .5rem}
legend{font-weight:600;padding:0 .35rem}
label{display:flex;gap:.75rem;align-items:flex-start;padding:.55rem 0}
label span{min-width:0;overflow-wrap:anywhere}
label .soft,button .soft{display:block;font-size:.9rem;font-weight:400}
input[type=checkbox]{width:1.25rem;height:1.25rem;margin:.15rem 0 0;flex:none;accent-color:var(--act)}
.actions{display:flex;flex-wrap:wrap;gap:.75rem;margin-top:1.5rem}
button{font:inherit;font-weight:600;padding:.7rem 1.25rem;border-radius:.5rem;border:1px solid var(--line);background:transparent;color:var(--ink);cursor:pointer;flex:1 1 9rem}
button.main{background:var(--act);border-color:var(--act);color:var(--on-act)}
button.choice{display:block;width:100%;text-align:left;margin:.5rem 0}
button:focus-visible,input:focus-visible{outline:3px solid var(--act);outline-offset:2px}
.code{font:700 2rem/1.2 ui-monospace,monospace;letter-spacing:.12em;text-align:center;padding:.9rem;margin:.75rem 0;border:1px dashed var(--line);border-radius:.5rem}
.notice{border-left:4px solid var(--act);padding:.5rem .9rem;background:var(--ground)}
`;
