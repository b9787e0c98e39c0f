// Variables of the environment, for the time of a call.
/** Runs `body` with variables of the environment; undefined removes one. */
export async function withEnvironment<T>(variables: Readonly<Record<string, string | undefined>>, body: () => Promise<T>): Promise<T> {
  const before = Object.fromEntries(Object.keys(variables).map((name) => [name, process.env[name]]));
  const set = (values: Readonly<Record<string, string | undefined>>): void => {
    for (const [name, value] of Object.entries(values)) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  };
  set(variables);
  try {
    return await body();
  } finally {
    set(before);
  }
}
