# The formula for a Homebrew tap. `release/recipes` replaces the words between at signs.
class Trundle < Formula
  desc "Transposes, rolls and reverses tensors in files exactly"
  homepage "@REPOSITORY@"
  url "@URL@"
  sha256 "@SHA256@"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on "rust" => :build

  def install
    system "cargo", "install", *std_cargo_args(path: "crates/trundle-cli")
    generate_completions_from_executable(bin/"trundle", "completions")
    system bin/"trundle", "man", "--dir", "man"
    man1.install Dir["man/*"]
  end

  test do
    system bin/"trundle", "demo", testpath/"demo", "--size", "32"
    assert_match version.to_s, shell_output("#{bin}/trundle --version")
  end
end
