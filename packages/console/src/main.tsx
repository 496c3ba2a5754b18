import { createRoot } from 'react-dom/client';
import { startPage } from './start.tsx';
import './ui/fonts.css';
import './ui/cards.css';
import './ui/tokens.css';
import './ui/ui.css';
import './shell/shell.css';

const place = document.getElementById('root');
if (place === null) throw new Error('index.html has no #root');
await startPage(createRoot(place));
