function explain(code: string | undefined, place: string, setting: string | undefined): string {
  const change =
    setting === undefined ? 'choose another port' : `set ${setting} to another port (0 selects a free one)`;
  switch (code) {
    case 'EADDRINUSE':
      return `Cannot listen on ${place}: the port is in use. Stop the process that uses it, or ${change}.`;
    case 'EACCES':
      return `Cannot listen on ${place}: this user is not allowed to use the port. Use a port above 1023: ${change}.`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `Cannot listen on ${place}: this machine has no such address. Listen on 127.0.0.1, 0.0.0.0 or ::.`;
    default:
      return `Cannot listen on ${place}: ${code ?? 'unknown error'}.`;
  }
}

/** Thrown if a server cannot listen on its port. The message names the port and the setting to change. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
  readonly code: string | undefined;

  constructor(host: string, port: number, setting: string | undefined, cause: NodeJS.ErrnoException) {
    super(explain(cause.code, `${host} port ${port}`, setting), { cause });
    this.code = cause.code;
  }
}
