import type { z } from 'zod';
import { errorCodes, type ErrorCode } from '../errors/error_codes.js';
import type { Diagnostic } from '../values/diagnostic.js';
import type { ConfigurationDocument, ValuePath } from '../values/document.js';
import { closest, knownKeys } from '../values/known_keys.js';
import { renamedKey, renamedValue } from './renamed.js';

type Issue = z.core.$ZodIssue;

/** Sources of the words in a message */
interface Context {
  document: ConfigurationDocument;
  schema: unknown;
  value: unknown;
}

/** Rewrites Zod's issues in the user's words, each with its place in the file. */
export function diagnose(document: ConfigurationDocument, schema: unknown, issues: readonly Issue[]): Diagnostic[] {
  const context: Context = { document, schema, value: document.value() };
  const flat = issues.flatMap((issue) => flatten(issue, [], context));
  const diagnostics = flat.flatMap(({ issue, path }) => describe(issue, path, context));
  const meant = new Set(diagnostics.map((diagnostic) => diagnostic.meantKey).filter((key) => key !== undefined));
  return diagnostics
    .filter((diagnostic) => !diagnostic.missingKeys?.some((key) => meant.has(key)))
    .map(plain)
    .sort((left, right) => left.range.start - right.range.start);
}

function plain({ code, message, range, hint }: Described): Diagnostic {
  return { code, message, range, ...(hint === undefined ? {} : { hint }) };
}

interface PlacedIssue {
  issue: Issue;
  path: ValuePath;
}

/** Replaces a union's issue by the issues of the branch that fits the value's shape, if a branch does. */
function flatten(issue: Issue, parent: ValuePath, context: Context): PlacedIssue[] {
  const path = [...parent, ...issue.path];
  if (issue.code !== 'invalid_union') return [{ issue, path }];
  const fitting = issue.errors.filter(
    (branch) => !branch.some((inner) => inner.path.length === 0 && isShapeMismatch(inner)),
  );
  const branch = fitting[0];
  return branch ? branch.flatMap((inner) => flatten(inner, path, context)) : [{ issue, path }];
}

function isShapeMismatch(issue: Issue): boolean {
  if (issue.code === 'invalid_union')
    return issue.errors.every((branch) => branch.some((inner) => inner.path.length === 0 && isShapeMismatch(inner)));
  return issue.code === 'invalid_type' || issue.code === 'invalid_value';
}

interface Described extends Diagnostic {
  /** Keys that would resolve this issue. It is dropped when one of them is present and only misspelled. */
  missingKeys?: string[];
  /** Key that an unknown one was probably meant to be */
  meantKey?: string;
}

function describe(issue: Issue, path: ValuePath, context: Context): Described[] {
  const { document } = context;
  const value = valueAt(context.value, path);
  const range = document.locateValue(path);
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => unknownKey(key, path, context));
    case 'invalid_type':
      return value === undefined || (value === null && path.length === 0)
        ? [missingKey(path, context)]
        : [
            {
              code: 'CONFIG_TYPE',
              message: `${optionName(path)} must be ${article(issue.expected)}, not ${shape(value)}`,
              range,
              ...typeHint(issue.expected, value, path, context),
            },
          ];
    case 'invalid_value':
      return [
        value === undefined ? missingKey(path, context) : wrongValue(issue.values.map(String), value, path, range),
      ];
    case 'invalid_union':
      return value === undefined ? [missingKey(path, context)] : [noBranch(issue, path, value, context)];
    case 'too_small':
      return [
        {
          code: 'CONFIG_VALUE',
          message: `${optionName(path)} must be ${issue.origin === 'array' ? `a list of at least ${issue.minimum}` : `at least ${issue.minimum}`}`,
          range,
          ...descriptionHint(path, context),
        },
      ];
    case 'too_big':
      return [
        {
          code: 'CONFIG_VALUE',
          message: `${optionName(path)} must be at most ${issue.maximum}`,
          range,
          ...descriptionHint(path, context),
        },
      ];
    case 'invalid_format':
      return [
        {
          code: 'CONFIG_VALUE',
          message: `${optionName(path)}: \`${String(value)}\` is ${issue.message.startsWith('Invalid') ? 'not allowed' : formatMessage(issue.message)}`,
          range,
          ...descriptionHint(path, context),
        },
      ];
    case 'custom':
      return [customIssue(issue, path, context)];
    default:
      return [{ code: 'CONFIG_VALUE', message: `${optionName(path)}: ${issue.message}`, range }];
  }
}

/** Describes a value that the key does not allow. */
function wrongValue(values: string[], value: unknown, path: ValuePath, range: Diagnostic['range']): Described {
  const given = text(value);
  const message = `\`${given}\` is not a value of ${optionName(path)}`;
  const renamed = renamedValue(path, value);
  if (renamed !== undefined) return { code: 'CONFIG_VALUE', message, range, hint: `it is called \`${renamed}\` now` };
  const meant = closest(given, values);
  const hint =
    meant === undefined ? `one of ${values.map((item) => `\`${item}\``).join(', ')}` : `did you mean \`${meant}\`?`;
  return { code: 'CONFIG_VALUE', message, range, hint };
}

/**
 * Completes the message of a format. "not …" follows the value; a rule ("a path starts with `/`") stands on its own.
 */
function formatMessage(message: string): string {
  return message.startsWith('not ') ? message : `not allowed: ${message}`;
}

function unknownKey(key: string, path: ValuePath, { document, schema }: Context): Described {
  const range = document.locateKey([...path, key]);
  const place = path.length === 0 ? 'at the top level' : `in ${optionName(path)}`;
  const message = `unknown key \`${key}\` ${place}`;
  const candidates = knownKeys(schema, path);
  if (path.length === 0 && candidates.includes('nodes')) {
    return {
      code: 'CONFIG_UNKNOWN_KEY',
      message,
      range,
      hint: 'in a file with `nodes`, write every other key inside a node',
    };
  }
  const renamed = renamedKey(key, candidates);
  if (renamed !== undefined) {
    return {
      code: 'CONFIG_UNKNOWN_KEY',
      message,
      range,
      hint: `it is called \`${renamed}\` now`,
      meantKey: keyOf([...path, renamed]),
    };
  }
  const meant = closest(key, candidates);
  if (meant !== undefined) {
    return {
      code: 'CONFIG_UNKNOWN_KEY',
      message,
      range,
      hint: `did you mean \`${meant}\`?`,
      meantKey: keyOf([...path, meant]),
    };
  }
  return {
    code: 'CONFIG_UNKNOWN_KEY',
    message,
    range,
    hint: `known here: ${candidates.map((item) => `\`${item}\``).join(', ')}`,
  };
}

function missingKey(path: ValuePath, context: Context): Described {
  const key = path.at(-1);
  const range = context.document.locateValue(path);
  if (key === undefined)
    return { code: 'CONFIG_MISSING_KEY', message: 'the file is empty', range, hint: '`sheaf init` writes an example' };
  const holder = path.length === 1 ? 'the top level' : optionName(path.slice(0, -1));
  const message = `\`${String(key)}\` is missing at ${holder}`;
  return {
    code: 'CONFIG_MISSING_KEY',
    message,
    range,
    missingKeys: [keyOf(path)],
    ...missingKeyHint(key, path, context),
  };
}

/** Gives an example where the schema has one: `add \`key: ./key.pem\` (PEM file with the private key)`. */
function missingKeyHint(key: PropertyKey, path: ValuePath, { schema }: Context): { hint?: string } {
  const { description, examples, anyOf } = schemaAt(schema, path) ?? {};
  if (description === undefined) return {};
  const example = (examples ?? anyOf?.[0]?.examples)?.[0];
  return {
    hint: `add \`${String(key)}${typeof example === 'string' ? `: ${example}` : ''}\` (${description.replace(/\.$/, '')})`,
  };
}

function noBranch(
  issue: Issue & { code: 'invalid_union' },
  path: ValuePath,
  value: unknown,
  context: Context,
): Described {
  const range = context.document.locateValue(path);
  const literals = issue.errors
    .flat()
    .flatMap((inner) => (inner.code === 'invalid_value' ? inner.values.map(String) : []));
  const meant = typeof value === 'string' ? closest(value, literals) : undefined;
  if (meant !== undefined)
    return {
      code: 'CONFIG_VALUE',
      message: `\`${text(value)}\` is not a value of ${optionName(path)}`,
      range,
      hint: `did you mean \`${meant}\`?`,
    };
  return {
    code: 'CONFIG_TYPE',
    message: `${optionName(path)} cannot be ${shape(value)}`,
    range,
    ...descriptionHint(path, context),
  };
}

function customIssue(issue: Issue & { code: 'custom' }, path: ValuePath, { document }: Context): Described {
  const hint: unknown = issue.params?.['hint'];
  const code: unknown = issue.params?.['code'];
  const missing = issue.params?.['missing'] as readonly string[] | undefined;
  return {
    code: typeof code === 'string' && code in errorCodes ? (code as ErrorCode) : 'CONFIG_VALUE',
    message: issue.message,
    range: issue.params?.['place'] === 'key' ? document.locateKey(path) : document.locateValue(path),
    ...(typeof hint === 'string' ? { hint } : {}),
    ...(missing === undefined ? {} : { missingKeys: missing.map((key) => keyOf([...path, key])) }),
  };
}

/** Writes a path as users do: `routes[1].path`. */
export function optionName(path: ValuePath): string {
  if (path.length === 0) return 'the file';
  return `\`${path.map((step, index) => (typeof step === 'number' ? `[${step}]` : `${index === 0 ? '' : '.'}${String(step)}`)).join('')}\``;
}

function keyOf(path: ValuePath): string {
  return path.map(String).join('\0');
}

function valueAt(value: unknown, path: ValuePath): unknown {
  return path.reduce<unknown>(
    (holder, step) => (holder as Record<PropertyKey, unknown> | null | undefined)?.[step],
    value,
  );
}

/** Writes a scalar as the user wrote it, and names the type of a map or a list. */
function text(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'object' && value !== null ? shape(value) : String(value);
}

function shape(value: unknown): string {
  if (value === null) return 'empty';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a map';
  return `the ${typeof value === 'string' ? 'text' : typeof value} \`${text(value)}\``;
}

const typeNames: Record<string, string> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: '`true` or `false`',
  array: 'a list',
  object: 'a map',
};

function article(expected: string): string {
  return typeNames[expected] ?? expected;
}

function typeHint(expected: string, value: unknown, path: ValuePath, context: Context): { hint?: string } {
  if (path.length === 0) return { hint: '`sheaf init` writes an example' };
  if ((expected === 'number' || expected === 'int') && typeof value === 'string' && /^\d+$/.test(value))
    return { hint: 'remove the quotes' };
  const described = descriptionHint(path, context);
  if (described.hint !== undefined) return described;
  return expected === 'string' && (typeof value === 'number' || typeof value === 'boolean')
    ? { hint: `put it in quotes: "${String(value)}"` }
    : {};
}

function descriptionHint(path: ValuePath, { schema }: Context): { hint?: string } {
  const description = schemaAt(schema, path)?.description;
  return description === undefined ? {} : { hint: description };
}

interface DescribedSchema {
  description?: string;
  examples?: readonly unknown[];
  anyOf?: DescribedSchema[];
  items?: DescribedSchema;
  properties?: Record<string, DescribedSchema>;
}

function schemaAt(schema: unknown, path: ValuePath): DescribedSchema | undefined {
  let node: DescribedSchema | undefined = schema as DescribedSchema;
  for (const step of path) {
    const holders: (DescribedSchema | undefined)[] = [node, ...(node?.anyOf ?? [])];
    node = holders
      .map((holder) => (typeof step === 'number' ? holder?.items : holder?.properties?.[String(step)]))
      .find((next) => next !== undefined);
  }
  return node;
}
