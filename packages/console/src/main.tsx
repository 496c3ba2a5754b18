import { createRoot } from 'react-dom/client';
import { startPage } from './start.tsx';
import { preloadParts } from './ui/lazy-part.tsx';
import './ui/fonts.css';
import './ui/cards.css';
import './ui/tokens.css';
import './ui/ui.css';
import './shell/shell.css';

/** The first screen is read before the rest of the page. */
const PRELOAD_AFTER_MS = 500;

const place = document.getElementById('root');
if (place === null) throw new Error('index.html has no #root');
await startPage(createRoot(place));
setTimeout(preloadParts, PRELOAD_AFTER_MS);
