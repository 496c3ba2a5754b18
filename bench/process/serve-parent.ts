import type { Commands } from './child.ts';

interface Call {
  readonly call: number;
  readonly command: string;
  readonly input: never;
}

/**
 * Offers commands to the parent process, until the parent closes the channel or is gone. `close` runs then,
 * and the process exits by itself so that a CPU profile can be written.
 */
export function serveParent(commands: Commands, close: () => Promise<void> = async () => undefined): void {
  const answer = async ({ call, command, input }: Call): Promise<void> => {
    try {
      const value = await commands[command]?.(input);
      process.send?.({ call, value });
    } catch (error) {
      process.send?.({
        call,
        error: error instanceof Error ? (error.stack ?? error.message) : String(error),
      });
    }
  };
  process.on('message', (message: Call) => void answer(message));
  process.once('disconnect', () => {
    close().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  });
  // Ctrl-C reaches the whole group; the parent decides when its children end.
  process.on('SIGINT', () => undefined);
}
