"""`python -m reference`: write docs/reference/ anew."""

from reference.pages import FOLDER, make_pages


def main() -> None:
    pages = make_pages()
    for name, text in pages.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    print(f"{len(pages)} pages: {FOLDER.as_posix()}/")


if __name__ == "__main__":
    main()
