/* A program that does nothing: what it takes is the launcher's own time. */

int main(void)
{
	return 0;
}
