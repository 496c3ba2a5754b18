/**
 * Lets a command do its work whoever reads its output. What nobody reads any more, as after `| head -1`, is dropped;
 * output that cannot be written, as on a full disk, fails the command in one line. By default, Node ends the process
 * with a stack in both cases.
 */
export function handleLostOutput(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') return;
      if (stream === process.stdout) process.stderr.write(`The output cannot be written: ${error.message}\n`);
      process.exit(1);
    });
  }
}
