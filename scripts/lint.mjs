// npm run lint: what the compiler and ESLint say of the whole project. Both take one program, because type checks take most of the time of
// either. (Editors and `npx eslint FILE` make a program of their own, by eslint.config.js.) The page of the server, which runs in browsers,
// has other types.
import { ESLint } from 'eslint';
import ts from 'typescript';
import { root } from './list-sources.mjs';

function makeProgram(config) {
  const refuse = ({ messageText }) => { throw new Error(ts.flattenDiagnosticMessageText(messageText, '\n')); };
  const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: refuse };
  const { fileNames, options, errors } = ts.getParsedCommandLineOfConfigFile(`${root}/${config}`, {}, host);
  return ts.createProgram({ rootNames: fileNames, options, configFileParsingDiagnostics: errors });
}

const program = makeProgram('tsconfig.all.json');
const faults = [makeProgram('tsconfig.page.json'), program].flatMap((each) => ts.getPreEmitDiagnostics(each));
const format = { getCanonicalFileName: (name) => name, getCurrentDirectory: () => root, getNewLine: () => '\n' };
process.stdout.write(ts.formatDiagnostics(faults, format));

const eslint = new ESLint({
  cwd: root,
  overrideConfig: {
    files: ['{lib,test,bench,examples}/**/*.ts'], languageOptions: { parserOptions: { programs: [program], projectService: false } },
  },
});
const results = await eslint.lintFiles(['.']);
process.stdout.write(await (await eslint.loadFormatter('stylish')).format(results));
if (faults.length > 0 || results.some(({ errorCount, fatalErrorCount }) => errorCount + fatalErrorCount > 0)) process.exitCode = 1;
