// Lists what a C++ file defines: functions with their lines, and classes with their public methods. The files are laid
// out by clang-format, and no macro of ours opens a brace, so a scan of braces suffices.

/**
 * Returns `functions` ({ name, line, lines }: from the head to the closing brace) and `classes` ({ name, line,
 * publicMethods }). Names of members include their class: `Stream::read`. A function is `local` if it is in an unnamed
 * namespace.
 */
export function outlineOf(source) {
  const text = withoutComments(source);
  const outline = { functions: [], classes: [] };
  const scopes = [{ kind: 'namespace' }];
  let head = 0;
  const lineOf = lineCounter(text);
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    const scope = scopes.at(-1);
    if (character === '(') {
      at = closing(text, at);
    } else if (character === ';') {
      declare(scope, text.slice(head, at));
      head = at + 1;
    } else if (character === '}') {
      scopes.pop();
      if (scopes.length === 0) throw new Error(`line ${lineOf(at)}: a brace closes nothing`);
      head = at + 1;
    } else if (character === '{') {
      const opened = classify(text.slice(head, at));
      if (opened.kind === 'value') {
        at = closing(text, at);
        continue;
      }
      const line = lineOf(head + firstCode(text.slice(head)));
      if (opened.kind === 'function') {
        const end = closing(text, at);
        declare(scope, text.slice(head, at));
        outline.functions.push({
          name: qualified(scope, opened.name),
          line,
          lines: lineOf(end) - line + 1,
          local: scopes.some(({ local }) => local),
        });
        at = end;
      } else {
        scopes.push(opened);
        if (opened.kind === 'class') {
          opened.name = qualified(scope, opened.name);
          opened.outline = { name: opened.name, line, publicMethods: 0 };
          outline.classes.push(opened.outline);
        }
      }
      head = at + 1;
    } else if (character === ':' && scope.kind === 'class' && accessOf(text.slice(head, at)) !== undefined) {
      scope.access = accessOf(text.slice(head, at));
      head = at + 1;
    }
  }
  return outline;
}

const accessOf = (head) => /^\s*(public|protected|private)\s*$/.exec(head)?.[1];
const qualified = (scope, name) => (scope.kind === 'class' ? `${scope.name}::${name}` : name);
const firstCode = (text) => /\S/.exec(text)?.index ?? 0;

/** Returns what a brace after `head` opens: a namespace, a class, a function, or a value. */
function classify(head) {
  const code = withoutTemplate(head).trim();
  if (/^(?:inline\s+)?namespace\b|^extern\s+""$/.test(code)) return { kind: 'namespace', local: code === 'namespace' };
  const type = /^(class|struct|union)\b(?:\s*(?:\[\[.*?\]\]|alignas\(.*?\)))*\s*([\w:]*)[^()]*$/.exec(code);
  if (type && !code.includes('=')) {
    return { kind: 'class', name: type[2] || '(unnamed)', access: type[1] === 'class' ? 'private' : 'public' };
  }
  if (/^enum\b/.test(code)) return { kind: 'value' };
  const name = functionName(code);
  if (name === undefined) return { kind: 'value' };
  // A member that is initialized with braces: `: next_{first}`
  if (/\)\s*(?:noexcept\s*)?:[^:]/.test(code) && /\w$/.test(code)) return { kind: 'value' };
  return { kind: 'function', name };
}

/** Returns `Stream::read` for `size_t Stream::read(…) const`, and undefined for anything but a function. */
function functionName(declaration) {
  const code = withoutTemplateArguments(declaration);
  const match = /(~?[\w:~]+|\boperator\s*[^\s\w(]{1,3}|\boperator\s*\(\)|\boperator\s+[\w:]+)\s*\(/.exec(code);
  if (!match || /(?:^|[^=!<>])=(?![=])/.test(code.slice(0, match.index).replace(/operator\s*\S+$/, '')))
    return undefined;
  return match[1].replace(/\s+/g, '');
}

/** Removes template arguments, so that `std::function<void(int)> call` does not look like a function. */
function withoutTemplateArguments(code) {
  const innermost = /(?<!operator\s*)<[^<>;]*>/g;
  let shorter = code.replaceAll('->', '');
  while (innermost.test(shorter)) shorter = shorter.replace(innermost, '');
  return shorter;
}

function declare(scope, head) {
  if (scope.kind !== 'class' || scope.access !== 'public') return;
  const code = withoutTemplate(head).trim();
  const name = functionName(code);
  const own = scope.name.split('::').at(-1);
  if (name === undefined || name === own || name.startsWith('~') || /=\s*delete$/.test(code)) return;
  if (/^(?:friend|using|typedef|static_assert)\b/.test(code)) return;
  scope.outline.publicMethods += 1;
}

function withoutTemplate(head) {
  let code = head
    .replace(/^\s*#.*(?:\\\n.*)*$/gm, '')
    .replace(/\[\[.*?\]\]/g, '')
    .trimStart();
  while (code.startsWith('template')) {
    let depth = 0;
    let at = code.indexOf('<');
    for (; at < code.length; at++) {
      if (code[at] === '<') depth += 1;
      if (code[at] === '>' && --depth === 0) break;
    }
    code = code.slice(at + 1).trimStart();
  }
  return code;
}

/** Returns the position of the bracket that closes the one at `from`. */
function closing(text, from) {
  const pairs = { '(': ')', '{': '}' };
  const open = text[from];
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    if (text[at] === open) depth += 1;
    if (text[at] === pairs[open] && --depth === 0) return at;
  }
  throw new Error(`a ${open} does not close`);
}

function lineCounter(text) {
  const starts = [0];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return (offset) => {
    let low = 0;
    let high = starts.length;
    while (low + 1 < high) {
      const middle = (low + high) >> 1;
      if (starts[middle] <= offset) low = middle;
      else high = middle;
    }
    return low + 1;
  };
}

/** Blanks out comments, the content of literals and lines of the preprocessor. Line numbers stay the same. */
function withoutComments(source) {
  const blank = (text) => text.replace(/[^\n]/g, ' ');
  return source
    .replace(
      /\/\/[^\n]*|\/\*[\s\S]*?\*\/|R"(\w*)\([\s\S]*?\)\1"|"(?:[^"\\\n]|\\.)*"|(?<![\da-fA-F])'(?:[^'\\\n]|\\.)+'/g,
      (match) => (match.startsWith('/') ? blank(match) : `""${blank(match.slice(2))}`),
    )
    .replace(/^[ \t]*#(?:[^\n\\]|\\[^\n]|\\\n)*/gm, blank);
}
