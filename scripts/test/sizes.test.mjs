import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { outlineOf } from '../checks/cpp_outline.mjs';
import { scriptOutline } from '../checks/script_outline.mjs';
import { checkSizes } from '../checks/sizes.mjs';

let folder;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sheaf-sizes-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const write = (path, text) => {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
};
const check = (exceptions = []) => checkSizes(folder, exceptions, ['src']);
const statements = (count) => '  x += 1;\n'.repeat(count);

test('a function of C++ has its lines from its head to its brace', () => {
  const outline = outlineOf(`#define OPEN {
namespace sheaf {
// A { in a comment, "and in a literal
const char* text = "{ \\" {";
std::vector<int> values = {1, 2, 3};
template <class T, class = std::enable_if_t<(sizeof(T) > 1)>>
auto Stream::read(std::span<T> into, int flags = 0) const
    -> Result {
  auto each = [&](int at) { return at; };
  if (flags) {
    return {'{', 1'000};
  }
}
Stream::Stream(int first) noexcept : first_{first}, second_(first) {}
bool operator==(const Stream& a, const Stream& b) { return &a == &b; }
namespace {
int local() { return 1; }
}
}`);
  assert.deepEqual(outline.functions, [
    { name: 'Stream::read', line: 6, lines: 8, local: false },
    { name: 'Stream::Stream', line: 14, lines: 1, local: false },
    { name: 'operator==', line: 15, lines: 1, local: false },
    { name: 'local', line: 17, lines: 1, local: true },
  ]);
});

test('public methods of C++ are counted, whether or not they have a body', () => {
  const { classes, functions } = outlineOf(`class Stream final : public Base<int> {
 public:
  explicit Stream(int id) : id_{id} {}
  ~Stream();
  Stream(const Stream&) = delete;
  void write(std::span<const std::byte> bytes);
  [[nodiscard]] bool done() const { return done_; }
  static Stream open(std::function<void(int)> then = {});
  bool operator()(int) const;
  struct State {
    int value() const;
    int number = 1;
  };
  enum class Kind { one, two };
  std::function<void(int)> on_close;

 private:
  void grow();
  int id_;
};
struct Empty;`);
  assert.deepEqual(classes, [
    { name: 'Stream', line: 1, publicMethods: 4 },
    { name: 'Stream::State', line: 10, publicMethods: 1 },
  ]);
  assert.deepEqual(
    functions.map(({ name }) => name),
    ['Stream::Stream', 'Stream::done'],
  );
});

test('functions and public methods of TypeScript', () => {
  const { functions, classes } = scriptOutline(
    'a.ts',
    `export class Gate {
  constructor(private readonly port: number) {}
  get open(): boolean { return true; }
  static make(): Gate { return new Gate(1); }
  #hidden(): void {}
  private own(): void {}
  abstract later(): void;
}
const double = (value: number) => {
  return 2 * value;
};
declare function outside(): void;`,
  );
  assert.deepEqual(classes, [{ name: 'Gate', line: 1, publicMethods: 3 }]);
  assert.deepEqual(
    functions.map(({ name, lines }) => [name, lines]),
    [
      ['Gate.constructor', 1],
      ['Gate.open', 1],
      ['Gate.make', 1],
      ['Gate.#hidden', 1],
      ['Gate.own', 1],
      ['double', 3],
    ],
  );
});

test('a function of more than 60 lines is refused, one of 60 is not', () => {
  write('src/a.cc', `void A::f() {\n${statements(58)}}\nvoid A::g() {\n${statements(59)}}\n`);
  write('src/b.ts', `const f = () => {\n${statements(59)}};\n`);
  assert.deepEqual(check(), [
    'src/a.cc:61: A::g has 61 lines; 60 are the most',
    'src/b.ts:1: f has 61 lines; 60 are the most',
  ]);
});

test('a class of more than 30 public methods is refused', () => {
  const methods = (count, of) => Array.from({ length: count }, (_, index) => of(index)).join('\n');
  write('src/a.h', `class A {\n public:\n${methods(31, (n) => `  void f${n}();`)}\n};\n`);
  write('src/b.h', `class B {\n public:\n${methods(30, (n) => `  void f${n}();`)}\n private:\n  void g();\n};\n`);
  write('src/c.ts', `class C {\n${methods(31, (n) => `  f${n}() {}`)}\n}\n`);
  assert.deepEqual(check(), [
    'src/a.h:1: A has 31 public methods; 30 are the most',
    'src/c.ts:1: C has 31 public methods; 30 are the most',
  ]);
});

test('a class whose methods are in several files is refused', () => {
  write('src/set.cc', 'void Set::add() {}\nnamespace {\nvoid Run::a() {}\n}\n');
  write('src/set_more.cc', 'void Set::remove() {}\nnamespace {\nvoid Run::b() {}\n}\n');
  write('src/other/set.cc', 'void Set::add() {}\n');
  assert.deepEqual(check(), ['src/set.cc:1: Set is also defined in set_more.cc']);
});

test('an exception permits its size and no more, has a reason, and is needed', () => {
  write('src/a.cc', `void f() {\n${statements(59)}}\n`);
  const exception = { what: 'function', file: 'src/a.cc', name: 'f', size: 61, reason: 'One case for each frame.' };
  assert.deepEqual(check([exception]), []);
  assert.deepEqual(check([{ ...exception, reason: ' ' }]), ['size_exceptions.json: f in src/a.cc has no reason']);
  write('src/a.cc', `void f() {\n${statements(60)}}\n`);
  assert.deepEqual(check([exception]), ['src/a.cc:1: f has 62 lines; 60 are the most; its exception permits 61']);
  write('src/a.cc', 'void f() {}\n');
  assert.deepEqual(check([exception]), [
    'size_exceptions.json: nothing needs the exception of the function f in src/a.cc',
  ]);
});
