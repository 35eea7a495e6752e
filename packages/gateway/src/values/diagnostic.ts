import type { ErrorCode } from '../errors/error_codes.js';

/** Offsets into the text of the file; `end` is exclusive */
export interface SourceRange {
  start: number;
  end: number;
}

export interface Diagnostic {
  code: ErrorCode;
  message: string;
  range: SourceRange;
  hint?: string;
}

interface Position {
  line: number;
  column: number;
}

/** Returns line and column, both counted from 1. */
export function positionOf(text: string, offset: number): Position {
  const before = text.slice(0, offset);
  const lineStart = before.lastIndexOf('\n') + 1;
  return { line: before.split('\n').length, column: offset - lineStart + 1 };
}

/** Renders file, line and column, then the line itself with carets below the range (at most to the end of the line). */
export function renderPlace(file: string, text: string, range: SourceRange): string {
  const { line, column } = positionOf(text, range.start);
  const lineStart = range.start - (column - 1);
  const newline = text.indexOf('\n', lineStart);
  const source = text.slice(lineStart, newline === -1 ? text.length : newline).trimEnd();
  const width = Math.max(1, Math.min(range.end - range.start, source.length - (column - 1)));
  const margin = ' '.repeat(String(line).length);
  // Keeps tabs below the line, so that the terminal puts the caret under the right character.
  const indent = source.slice(0, column - 1).replace(/[^\t]/g, ' ');
  return [
    `${margin}--> ${file}:${line}:${column}`,
    `${margin} |`,
    `${line} | ${source}`,
    `${margin} | ${indent}${'^'.repeat(width)}`,
  ].join('\n');
}

/** Renders one diagnostic for a terminal. */
export function renderDiagnostic(
  file: string,
  text: string,
  diagnostic: Diagnostic,
  severity: 'error' | 'warning' = 'error',
): string {
  const lines = [`${severity}[${diagnostic.code}]: ${diagnostic.message}`, renderPlace(file, text, diagnostic.range)];
  if (diagnostic.hint !== undefined) lines.push(`  hint: ${diagnostic.hint}`);
  return lines.join('\n');
}
