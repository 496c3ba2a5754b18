/** Whether a path fits a pattern: the very path, or what it begins with where the pattern ends in `*`. */
export function matchesPath(pattern: string, path: string): boolean {
  return pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : path === pattern;
}
