// Lists what a TypeScript or JavaScript file defines: functions with their lines, and classes with their public
// methods.
import ts from 'typescript';

/** Returns the same as outlineOf() for C++. An unnamed function gets the name of what it is assigned or passed to. */
export function scriptOutline(file, source) {
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true);
  const outline = { functions: [], classes: [] };
  const lineOf = (position) => tree.getLineAndCharacterOfPosition(position).line + 1;
  const visit = (node) => {
    if (ts.isFunctionLike(node) && node.body !== undefined) {
      const line = lineOf(node.getStart(tree));
      outline.functions.push({ name: nameOf(node), line, lines: lineOf(node.end) - line + 1 });
    }
    if (ts.isClassLike(node)) {
      const publicMethods = node.members.filter(isPublicMethod).length;
      outline.classes.push({ name: nameOf(node), line: lineOf(node.getStart(tree)), publicMethods });
    }
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return outline;
}

function isPublicMethod(member) {
  if (!ts.isMethodDeclaration(member) && !ts.isAccessor(member)) return false;
  if (ts.isPrivateIdentifier(member.name)) return false;
  const hidden = ts.ModifierFlags.Private | ts.ModifierFlags.Protected;
  return (ts.getCombinedModifierFlags(member) & hidden) === 0;
}

function nameOf(node) {
  const own = ts.isConstructorDeclaration(node) ? 'constructor' : (node.name?.getText() ?? givenName(node.parent));
  for (let outer = node.parent; outer !== undefined; outer = outer.parent)
    if (ts.isClassLike(outer)) return `${nameOf(outer)}.${own}`;
  return own;
}

function givenName(parent) {
  if (ts.isCallExpression(parent)) return `${parent.expression.getText().split('\n')[0]}()`;
  return parent?.name?.getText() ?? '(unnamed)';
}
