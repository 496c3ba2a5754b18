const pad = (value: number, digits = 2): string => String(value).padStart(digits, '0');

/** Milliseconds since 1970, or ISO 8601. */
type Moment = number | string;

/** `14:03:07` in the reader's zone. */
export function showTime(at: Moment): string {
  const date = new Date(at);
  return `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`;
}

/** `2026-01-15` in the reader's zone. */
export function showDate(at: Moment): string {
  const date = new Date(at);
  return `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
}

/** `2026-01-15 14:03:07` in the reader's zone. */
export function showDateTime(at: Moment): string {
  return `${showDate(at)} ${showTime(at)}`;
}

/** `0.4 ms`, `12 ms`, `1.25 s`, `3 min`. */
export function showDuration(ms: number): string {
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(2)} s`;
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`;
  return `${(ms / 3_600_000).toFixed(1)} h`;
}

/** `73.1 y`, `264 d`, `6 d 23 h`, `2 h 5 min`, `3 min`, `20 s`: no more units than anybody needs. */
export function showSpan(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  const [days, hours] = [Math.floor(minutes / 1_440), Math.floor(minutes / 60) % 24];
  if (days >= 365) return `${(days / 365.2425).toFixed(1)} y`;
  if (days >= 100) return `${days} d`;
  if (days > 0) return hours === 0 ? `${days} d` : `${days} d ${hours} h`;
  if (hours > 0) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
  return minutes > 0 ? `${minutes} min` : `${Math.max(0, Math.floor(ms / 1_000))} s`;
}

/** A point in time: the time of day, and everything about it on hover. */
export function Time({ iso, kind }: { readonly iso: string; readonly kind: 'virtual' | 'real' }) {
  const clock = kind === 'virtual' ? 'virtual time' : 'real time';
  return (
    <time dateTime={iso} title={`${showDateTime(iso)}, ${clock}\n${iso}`}>
      {showTime(iso)}
    </time>
  );
}
