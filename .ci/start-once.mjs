// Runs `npm start` until it says that it is ready, and stops it. Works on every system.
import { execFileSync, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const STARTS_MS = 300_000;
const onWindows = process.platform === 'win32';
const child = spawn('npm', ['start'], {
  shell: onWindows,
  detached: !onWindows,
  stdio: ['ignore', 'pipe', 'inherit'],
});
let isReady = false;

function stop() {
  if (onWindows) execFileSync('taskkill', ['/pid', String(child.pid), '/T', '/F']);
  else process.kill(-child.pid, 'SIGINT');
}

const over = setTimeout(() => {
  process.stderr.write('npm start did not become ready.\n');
  stop();
}, STARTS_MS);
createInterface({ input: child.stdout }).on('line', (line) => {
  process.stdout.write(`${line}\n`);
  // The last line of the start, after the addresses.
  if (line.startsWith('API key')) {
    isReady = true;
    clearTimeout(over);
    stop();
  }
});
child.on('exit', (code, signal) => {
  clearTimeout(over);
  process.stdout.write(`ended with ${code ?? signal}\n`);
  // npm passes the signal on and ends by it. Windows has no signal that asks a program to end.
  const wasAsked = code === 0 || signal === 'SIGINT' || onWindows;
  process.exitCode = isReady && wasAsked ? 0 : 1;
});
