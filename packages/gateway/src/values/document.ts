import { isMap, isNode, isPair, isScalar, LineCounter, parseDocument, visit, type Document, type Node } from 'yaml';
import { errorMessage } from '../errors/user_error.js';
import type { Diagnostic, SourceRange } from './diagnostic.js';
import { syntaxHint } from './syntax_hints.js';

export type ValuePath = readonly PropertyKey[];

/** A YAML file together with the position of every key and value in it. */
export class ConfigurationDocument {
  readonly file: string;
  readonly text: string;
  readonly #document: Document.Parsed;
  #value: unknown;
  #excess: string | undefined;

  constructor(file: string, text: string) {
    this.file = file;
    this.text = text;
    this.#document = parseDocument(text, { lineCounter: new LineCounter(), prettyErrors: false, strict: true });
    try {
      // Limits the number of aliases: aliases of aliases grow without bound.
      this.#value = this.#document.errors.length === 0 ? this.#document.toJS({ maxAliasCount: 100 }) : undefined;
    } catch (error) {
      this.#excess = errorMessage(error);
    }
  }

  /** Returns the faults that YAML itself finds: syntax errors, duplicate keys, unknown aliases. Then those of keys of no option. */
  syntaxErrors(): Diagnostic[] {
    if (this.#excess !== undefined) return [this.#aliasError(this.#excess)];
    const faults = this.#errors();
    return faults.length > 0 ? faults : this.#prototypeKeys();
  }

  #errors(): Diagnostic[] {
    return this.#document.errors.map((error) => ({
      code: 'CONFIG_SYNTAX',
      message: error.code === 'DUPLICATE_KEY' ? 'this key appears twice' : lowerFirst(error.message),
      range: error.code === 'DUPLICATE_KEY' ? this.#word(error.pos[0]) : this.#clamp(error.pos[0], error.pos[1]),
      hint: syntaxHint(error),
    }));
  }

  /** An object of JavaScript has no such key of its own once it is copied: what it holds would be lost without a word. */
  #prototypeKeys(): Diagnostic[] {
    const found: Diagnostic[] = [];
    visit(this.#document, {
      Pair: (_at, { key }) => {
        if (!isScalar(key) || key.value !== '__proto__' || !key.range) return;
        found.push({
          code: 'CONFIG_UNKNOWN_KEY',
          message: '`__proto__` is neither a key nor a name',
          range: this.#clamp(key.range[0], key.range[1]),
          hint: 'a name is made of letters, digits, `-` and `_`, and begins with a letter',
        });
      },
    });
    return found;
  }

  /** Describes a fault of reading the value: an alias without its anchor, or too many aliases. */
  #aliasError(message: string): Diagnostic {
    const alias = /anchor must be set before the alias\): (.+)$/.exec(message)?.[1];
    const start = alias === undefined ? 0 : Math.max(0, this.text.indexOf(`*${alias}`));
    const hint =
      alias === undefined
        ? 'write the values out'
        : `\`*\` at the start names another value; put text in quotes: "*${alias}"`;
    return {
      code: 'CONFIG_SYNTAX',
      message: lowerFirst(message),
      range: this.#clamp(start, start + 1 + (alias?.length ?? 0)),
      hint,
    };
  }

  /** Returns the plain value; undefined when there are syntax errors. */
  value(): unknown {
    return this.#value;
  }

  /** Returns whether a value is written at `path`, and not only in what an alias stands for. */
  has(path: ValuePath): boolean {
    return this.#node(path) !== undefined;
  }

  /** Finds the value at `path`, or the nearest value around it when it is absent. */
  locateValue(path: ValuePath): SourceRange {
    for (let length = path.length; length >= 0; length--) {
      const node = this.#node(path.slice(0, length));
      if (node?.range)
        return length === path.length
          ? this.#clamp(node.range[0], node.range[1])
          : this.#start(node.range[0], path, length);
    }
    return this.#clamp(0, 0);
  }

  /** Finds the last key of `path`. */
  locateKey(path: ValuePath): SourceRange {
    const parent = this.#node(path.slice(0, -1));
    const key = path.at(-1);
    if (isMap(parent)) {
      const pair = parent.items.find((item) => isPair(item) && isNode(item.key) && String(item.key) === String(key));
      if (pair && isNode(pair.key) && pair.key.range) return this.#clamp(pair.key.range[0], pair.key.range[1]);
    }
    return this.locateValue(path);
  }

  #node(path: ValuePath): Node | undefined {
    const node = path.length === 0 ? this.#document.contents : this.#document.getIn(path as unknown[], true);
    return isNode(node) ? node : undefined;
  }

  /** Points to the key that holds the block in which a key is absent, or to the first character of the block. */
  #start(offset: number, path: ValuePath, length: number): SourceRange {
    const holder = path[length - 1];
    return length > 0 && typeof holder === 'string'
      ? this.locateKey(path.slice(0, length))
      : this.#clamp(offset, offset + 1);
  }

  #word(start: number): SourceRange {
    return this.#clamp(start, start + (/^[^\s:,{}[\]]+/.exec(this.text.slice(start))?.[0].length ?? 1));
  }

  #clamp(start: number, end: number): SourceRange {
    const last = Math.max(this.text.length - 1, 0);
    const from = Math.min(start, last);
    return { start: from, end: Math.max(Math.min(end, this.text.length), from + 1) };
  }
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
