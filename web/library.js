// Calls the library, which is WebAssembly, with a question as JSON, followed by the bytes of a file.

let instance;
let spare;

async function compiled() {
  const response = await fetch("trundle.wasm");
  if (!response.ok) throw new Error(`trundle.wasm: ${response.status}`);
  return WebAssembly.compile(await response.arrayBuffer());
}

/** Loads the library, and keeps a function that creates a new instance if this one stops. */
export async function load() {
  const module = await compiled();
  const make = () => WebAssembly.instantiate(module);
  instance = await make();
  spare = make;
}

/** Returns the answer; an object with `error` if the library refuses the question. */
export function ask(question, file = new Uint8Array()) {
  const json = new TextEncoder().encode(JSON.stringify(question));
  try {
    const { memory, request_buffer, answer, answer_bytes } = instance.exports;
    const at = request_buffer(json.length + file.length);
    const request = new Uint8Array(memory.buffer, at, json.length + file.length);
    request.set(json);
    request.set(file, json.length);
    const answered = answer(json.length);
    const bytes = new Uint8Array(memory.buffer, answered, answer_bytes());
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch (stopped) {
    // Happens only after a mistake in the library, or without enough memory.
    spare().then((made) => { instance = made; });
    return { error: `the library stopped: ${stopped.message}`, span: null, inputs: [] };
  }
}
